"""Another firewall removes the rules while Berth does not run: the boot unit, reloaded with it, closes what is open.

One opening is left behind in a table that such a firewall may not know. Packets count, as in `test_loss_of_hold`.
"""

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from containers.docker.gateway import egress
from containers.firewall import iptables
from containers.firewall.boot import SCRIPT
from containers.firewall.rules import CLOSED
from containers.programs import is_root
from tests.containers.firewall.losses import CLEAN, DOCKER, LOSSES, PRIVATE
from tests.containers.firewall.router import PORT, Router, make_router, work_on

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
    ),
]
PUBLIC, OTHER = "11.1.2.3", "berth-of-others"
SEEN = (
    "FORWARD is flushed",
    "DOCKER-USER is flushed",
    "everything is flushed",
    "our chains are flushed",
    "our jump is gone",
    "our jump is behind an exception",
    "an exception for all bridges comes first",
    "another chain is gone to",
    "everything is written anew",
    "another firewall is loaded",
)
"""The differences for the unit. Only Berth knows that one rule of many is missing."""

NO_LOSS = f"""\
$program -w -P FORWARD DROP
$program -w -P INPUT DROP
$program -w -I FORWARD 1 -i eth7 -j ACCEPT
$program -w -I INPUT 1 -i lo -j ACCEPT
$program -w -I FORWARD 1 -i {OTHER} -j ACCEPT
"""


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with make_router() as made:
        yield made


@pytest.fixture
def place(router: Router, monkeypatch: pytest.MonkeyPatch) -> Router:
    """With rules that this process has set, behind a bridge that was closed at boot."""
    work_on(router, monkeypatch)
    run(router, CLEAN + DOCKER.format(bridge=router.bridge) + "iptables -w -t raw -F; ip6tables -w -t raw -F")
    run(router, SCRIPT)
    assert openings(router) == set()
    assert iptables.apply_rules() is None
    assert openings(router) == {"iptables", "ip6tables"}
    return router


def run(router: Router, script: str) -> str:
    done = subprocess.run(router.on("router", "sh"), input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (script, done.stderr)
    return done.stdout


def lose(router: Router, script: str) -> None:
    for rules in router.rules():
        words = {
            "bridge": router.bridge,
            "chains": " ".join(rules.chains),
            "parent": "DOCKER-USER" if rules.program == "iptables" else "FORWARD",
            "rule": rules.hooks[0].rule,
        }
        text = script
        for word, value in words.items():
            text = text.replace(f"{{{word}}}", value)
        run(router, f"program={rules.program}\n{text}")


def openings(router: Router) -> set[str]:
    """Returns the programs whose rules let the bridge's packets through."""
    listed = {name: run(router, f"{name} -w -t raw -S") for name in ("iptables", "ip6tables")}
    assert all(f"-A {CLOSED} -j DROP" in each for each in listed.values())
    return {name for name, each in listed.items() if f"-A {CLOSED} -i {router.bridge} -j RETURN" in each}


@pytest.mark.parametrize("way", SEEN)
def test_a_bridge_opened_for_rules_that_no_longer_hold_is_closed(place: Router, way: str) -> None:
    lose(place, LOSSES[way])
    run(place, SCRIPT)
    assert openings(place) == set()


def test_a_guarded_bridge_stays_open(place: Router) -> None:
    lose(place, NO_LOSS)
    run(place, SCRIPT)
    assert openings(place) == {"iptables", "ip6tables"}


def test_berth_opens_a_bridge_again_with_its_rules(place: Router) -> None:
    lose(place, LOSSES["everything is written anew"])
    assert place.as_agent("knock", addresses=[PRIVATE], port=PORT)[PRIVATE]
    run(place, SCRIPT)
    assert not iptables.are_open()
    assert iptables.apply_rules() is None
    assert iptables.are_open()
    assert place.as_agent("knock", addresses=[PUBLIC, PRIVATE], port=PORT) == {PUBLIC: True, PRIVATE: False}


def test_the_bridges_of_others_are_looked_at_by_themselves(place: Router) -> None:
    """The bridge of another installation, whose rules are in place, stays open when ours are gone."""
    place_of_others = "".join(
        f"{rules.program}-restore -w --noflush <<'RULES'\n{rules.as_restore().replace(place.bridge, OTHER)}RULES\n"
        f"{rules.program} -w -I FORWARD 1 {rules.hooks[0].rule}\n{rules.program} -w -I INPUT 1 {rules.hooks[1].rule}\n"
        f"{rules.program} -w -t raw -I {CLOSED} 1 {rules.opening}\n"
        for rules in Router(place.name, OTHER).rules()
    )
    run(place, place_of_others)
    lose(place, LOSSES["our jump is gone"])
    run(place, SCRIPT)
    assert openings(place) == set()
    assert openings(Router(place.name, OTHER)) == {"iptables", "ip6tables"}


@pytest.mark.parametrize("opens", [True, False])
def test_a_closed_bridge_is_opened_at_the_next_look(monkeypatch: pytest.MonkeyPatch, opens: bool) -> None:
    """The rules may still work, so nothing else would be repaired before their next check."""
    done: list[str] = []
    for name, answer in (("find_program", None), ("rules_hold", True), ("are_open", opens)):
        monkeypatch.setattr(egress, name, lambda *_arguments, answer=answer: answer)
    monkeypatch.setattr(egress, "apply_rules", lambda: done.append("set"))
    nobody: Any = None
    looking = egress.Egress(nobody)
    for _ in range(3):
        assert looking._apply_here() is None
    assert len(done) == (1 if opens else 3)
