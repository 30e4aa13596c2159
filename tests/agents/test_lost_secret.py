"""An agent that starts without the secret it had admits only people whom its owner admitted before."""

from pathlib import Path

import pytest

from containers.agent_contract import PairingKind
from tests.agents.test_access import ADA, MALLORY, OWNER, SECRET, Door, code_of

pytestmark = pytest.mark.one_database


def reopen(door: Door, *, secret: str = "", allowed: frozenset[str] = frozenset()) -> None:
    door.config.pairing_secret, door.config.allowed_users = secret, allowed
    door.open()


def admitted(door: Door) -> list[str]:
    return [user.first_name for user in (OWNER, ADA, MALLORY) if door.access.admits(user)]


def test_an_agent_that_never_had_a_secret_answers_everybody(tmp_path: Path) -> None:
    door = Door(tmp_path, secret="")
    reopen(door)
    assert admitted(door) == ["Olga", "Ada", "Mal"]
    door.db.close()


@pytest.mark.parametrize("is_paired", [True, False])
def test_an_agent_that_lost_its_secret_answers_paired_users_and_explains_it_to_others(
    tmp_path: Path, is_paired: bool
) -> None:
    door = Door(tmp_path)
    if is_paired:
        door.tap(OWNER, code_of(PairingKind.OWNER))
    reopen(door)
    assert admitted(door) == ["Olga"] * is_paired
    said = door.access.refuse(MALLORY)
    assert said is not None
    assert said.name == "STRANGER_UNPAIRED"
    assert door.tap(MALLORY, code_of(PairingKind.ADD, 1)) == "not read"
    door.db.close()


def test_a_star_opens_it_a_list_closes_it_and_a_new_secret_pairs_again(tmp_path: Path) -> None:
    door = Door(tmp_path)
    door.tap(OWNER, code_of(PairingKind.OWNER))
    for allowed, expected in (({"*"}, ["Olga", "Ada", "Mal"]), ({"8"}, ["Ada"])):
        reopen(door, allowed=frozenset(allowed))
        assert admitted(door) == expected
    reopen(door, secret=SECRET)
    assert door.tap(ADA, code_of(PairingKind.ADD, 1)) == "PAIRED"
    assert admitted(door) == ["Olga", "Ada"]
    door.db.close()
