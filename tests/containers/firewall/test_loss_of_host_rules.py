"""The rules between agents and the host lose their effect in every way; afterwards the host is out of reach again.

The same as `test_loss_of_hold`, for the kernel's chain INPUT.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from containers.firewall import iptables, jumps
from containers.firewall.packet_paths import comes_to
from containers.programs import is_root
from tests.child_servers import child_server
from tests.containers.firewall.losses import CLEAN, DOCKER, HARMLESS, KNOCK, LOSSES
from tests.containers.firewall.router import GATEWAY, PORT, Router, make_router, work_on
from tests.security.inside import doors

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
    ),
]
OF_OTHER_CHAINS = {"DOCKER-USER is flushed", "one rule of ours is gone"}
OF_HOST = {name: script.replace("FORWARD", "INPUT") for name, script in LOSSES.items() if name not in OF_OTHER_CHAINS}
OF_HOST["one rule of ours is gone"] = "$program -w -D {chain} -j {refused}"
HARMLESS_FOR_HOST = {name: script.replace("FORWARD", "INPUT") for name, script in HARMLESS.items()}


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with make_router() as made, child_server(made.on("router", sys.executable, "-m", doors.__name__, str(PORT))):
        yield made


@pytest.fixture
def place(router: Router, monkeypatch: pytest.MonkeyPatch) -> Router:
    """With rules that this process has set. The host has an open port at the agents' gateway address."""
    work_on(router, monkeypatch)
    run(router, f"{CLEAN}{DOCKER.format(bridge=router.bridge)}")
    assert reaches_host(router)
    assert iptables.apply_rules() is None
    assert iptables.rules_hold()
    assert not reaches_host(router)
    return router


def run(router: Router, script: str) -> None:
    done = subprocess.run(router.on("router", "sh", "-c", script), capture_output=True, text=True, check=False)
    assert done.returncode == 0, (script, done.stderr)


def lose(router: Router, script: str) -> None:
    for rules in router.rules():
        hook = rules.hooks[1]
        words = {
            "bridge": router.bridge,
            "chains": " ".join(rules.chains),
            "chain": hook.chain,
            "refused": next(iter(rules.chains)),
            "parent": "INPUT",
            "rule": hook.rule,
        }
        text = script
        for word, value in words.items():
            text = text.replace(f"{{{word}}}", value)
        run(router, f"program={rules.program}\n{text}")


def reaches_host(router: Router) -> bool:
    command = router.on("agent", sys.executable, "-ISc", KNOCK, GATEWAY)
    return bool(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)


@pytest.mark.parametrize("way", OF_HOST)
def test_every_loss_that_opens_the_host_is_detected_and_repaired(place: Router, way: str) -> None:
    lose(place, OF_HOST[way])
    assert reaches_host(place)
    assert not iptables.rules_hold()
    assert iptables.apply_rules() is None
    assert iptables.rules_hold()
    assert not reaches_host(place)


@pytest.mark.parametrize("way", OF_HOST)
def test_the_operator_s_script_closes_the_host_too(place: Router, way: str) -> None:
    lose(place, OF_HOST[way])
    place.set_rules()
    [rules, _] = place.rules()
    chains = jumps.list_chains("iptables")
    assert comes_to(chains, rules.hooks[1].chain, hook="INPUT", bridge=place.bridge)
    assert not reaches_host(place)


@pytest.mark.parametrize("way", HARMLESS_FOR_HOST)
def test_rules_of_others_that_open_nothing_are_left_alone(place: Router, way: str) -> None:
    lose(place, HARMLESS_FOR_HOST[way])
    assert iptables.rules_hold()
    assert not reaches_host(place)
