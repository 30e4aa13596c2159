"""The machine's `iptables` becomes the other kind, whose rules are another set: Berth leaves none in the former one."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest
from django.test import override_settings

from containers.firewall import iptables, jumps, other_kind
from containers.programs import is_root, run_program
from tests.containers.firewall.losses import PRIVATE
from tests.containers.firewall.router import PORT, Router, make_router, work_on

KINDS = ("nft", "legacy")
PUBLIC = "11.1.2.3"
pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("ip", "nsenter", *(f"iptables-{kind}" for kind in KINDS))))),
        reason="takes root, ip and both kinds of iptables",
    ),
]


class Machine:
    def __init__(self, router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
        work_on(router, monkeypatch)
        self.router, self.kind = router, "nft"
        monkeypatch.setattr(iptables, "_set_here", {})
        monkeypatch.setattr(iptables, "run_program", self.run)
        monkeypatch.setattr(jumps, "run_program", self.run)
        monkeypatch.setattr(other_kind, "_has_legacy_tables", lambda _program: True)

    def run(self, name: str, *arguments: str, seconds: float, given: str | None = None) -> str:
        """Runs the program, which is of the present kind unless its name says another."""
        family, _, rest = name.partition("-")
        if family in {"iptables", "ip6tables"} and not rest.startswith(KINDS):
            name = "-".join(filter(None, [family, self.kind, rest]))
        return run_program(*self.router.on("router", name, *arguments), seconds=seconds, given=given)

    def named(self, kind: str) -> int:
        """Returns how many rules of this kind name the bridge."""
        listings = [self.router.on("router", f"{family}-{kind}", "-w", "-S") for family in ("iptables", "ip6tables")]
        shown = [subprocess.run(each, check=True, capture_output=True, text=True).stdout for each in listings]
        return "".join(shown).lower().count(self.router.bridge)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with make_router() as router:
        yield Machine(router, monkeypatch)


@pytest.mark.parametrize(("former", "present"), [KINDS, KINDS[::-1]])
def test_the_rules_move_to_the_other_kind(machine: Machine, former: str, present: str) -> None:
    machine.kind = former
    assert iptables.apply_rules() is None
    before = machine.named(former)
    machine.kind = present
    assert not iptables.rules_hold()
    assert iptables.apply_rules() is None
    assert iptables.rules_hold()
    assert (machine.named(former), machine.named(present)) == (0, before)
    assert machine.router.as_agent("knock", addresses=[PUBLIC, PRIVATE], port=PORT) == {PUBLIC: True, PRIVATE: False}
    with override_settings(BERTH_EGRESS_ALLOW=[(f"{PRIVATE}/32", None)]):
        assert iptables.apply_rules() is None
        assert machine.router.as_agent("knock", addresses=[PRIVATE], port=PORT)[PRIVATE]
    machine.kind = former
    iptables.remove_rules(machine.router.bridge)
    assert (machine.named(former), machine.named(present)) == (0, 0)
