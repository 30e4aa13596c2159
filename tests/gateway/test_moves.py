"""Two gateways never let one bot poll at the same time, in any history of messages, nodes, clocks and leaders."""

import pytest

from containers.gateway.leases import LEASE
from projects.services.gateway.entry_moves import WAIT_FOR, Step, next_step
from tests.gateway.histories import World, tell

pytestmark = pytest.mark.one_database
HISTORIES = 25


def test_two_containers_never_poll_at_once_in_any_history() -> None:
    worlds = [World(seed) for seed in range(HISTORIES)]
    for world in worlds:
        tell(world)
    assert sum(world.counted for world in worlds) > 500, "The histories are of something."


def test_a_shorter_wait_is_detected() -> None:
    """This proves that the histories would find such a fault."""
    assert any(_goes_wrong(World(seed, waits_for=LEASE / 3)) for seed in range(HISTORIES * 4))


def _goes_wrong(world: World) -> bool:
    try:
        tell(world)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(
    ("holder", "leaves", "runs_on", "is_void", "left_for", "step"),
    [
        ("", False, "", False, 0.0, Step.STAY),
        ("", False, "a", False, 0.0, Step.TAKE),
        ("a", False, "a", False, 0.0, Step.STAY),
        ("a", False, "", False, 0.0, Step.STAY),
        ("a", False, "b", True, 1e9, Step.LEAVE),
        ("a", True, "b", False, LEASE, Step.WAIT),
        ("a", True, "b", False, WAIT_FOR, Step.TAKE),
        ("a", True, "b", True, 0.0, Step.TAKE),
        ("a", True, "a", False, 0.0, Step.TAKE),
        ("a", True, "", True, 1e9, Step.STAY),
    ],
)
def test_each_step(holder: str, leaves: bool, runs_on: str, is_void: bool, left_for: float, step: Step) -> None:
    assert next_step(holder=holder, leaves=leaves, runs_on=runs_on, is_void=is_void, left_for=left_for) is step
