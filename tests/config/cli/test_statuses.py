"""The program has no code of the service, and knows the same about statuses as the service's table."""

import pytest

from berth_cli.api import Document
from berth_cli.tables import COLOURS
from berth_cli.terminal import DIM, GREEN, RED, YELLOW
from berth_cli.waiting import has_settled, is_down
from projects.rules.status.statuses import Status
from projects.rules.status.traits import Condition, Look

pytestmark = pytest.mark.one_database

LOOKS = {
    Look.WELL: GREEN,
    Look.TROUBLE: YELLOW,
    Look.HELD: YELLOW,
    Look.UNKNOWN: YELLOW,
    Look.ENDED: RED,
    Look.STILL: DIM,
}


def shown(status: Status) -> Document:
    return Document(raw=b"", content={"status": status.value}, status=200, headers={})


def test_each_status_has_the_colour_of_its_appearance() -> None:
    assert {status: LOOKS[look] for status in Status if (look := status.traits.look) in LOOKS} == COLOURS


@pytest.mark.parametrize("status", Status)
def test_the_program_waits_for_statuses_that_change_by_themselves(status: Status) -> None:
    """An engine that does not answer now may answer in a moment."""
    assert has_settled(shown(status)) == (status.traits.is_settled and status is not Status.UNKNOWN)
    assert is_down(shown(status)) == (status.traits.condition == Condition.DOWN)
