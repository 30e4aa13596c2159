"""Codes that a group has seen: someone who reposts them gets nothing, and the owner is not locked out."""

from pathlib import Path

import pytest

from containers.agent_contract import PairingKind
from tests.agents.test_access import ADA, LATER, MALLORY, OWNER, Door, code_of

pytestmark = pytest.mark.one_database


def test_the_owner_s_next_code_counts_if_a_group_has_seen_the_current_one(tmp_path: Path) -> None:
    door = Door(tmp_path)
    today, tomorrow = code_of(PairingKind.OWNER), code_of(PairingKind.OWNER, expires=LATER + 86_400)
    door.tap(OWNER, today, private=False)
    assert door.refuses(MALLORY, today)
    assert door.tap(OWNER, tomorrow) == "PAIRED_FIRST"
    assert door.refuses(MALLORY, code_of(PairingKind.OWNER, expires=LATER + 2 * 86_400))
    door.db.close()


def test_a_group_is_warned_once_a_day_about_each_code(tmp_path: Path) -> None:
    door = Door(tmp_path)
    first, second = code_of(PairingKind.ADD, 1), code_of(PairingKind.ADD, 2)
    said = [door.tap(user, code, private=False) for code in (first, second) for user in (OWNER, ADA, MALLORY)]
    assert said == ["CODE_IN_GROUP", None, None] * 2
    door.db.execute("UPDATE turned_away SET at = at - 86400")
    assert door.tap(MALLORY, first, private=False) == "CODE_IN_GROUP"
    door.db.close()
