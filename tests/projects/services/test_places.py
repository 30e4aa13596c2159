"""Places for waiting requests: a user who takes all they can leaves some for others."""

import random
from collections import Counter
from typing import Any

import pytest

from projects.errors import NoPlaceError
from projects.services.bulkheads import COMMANDS, STREAMS, WAITS, Places

POOLS = {"commands": COMMANDS, "waits": WAITS, "streams": STREAMS}


def grab(places: Places, person: str) -> int:
    """Returns how many places a person gets who keeps asking for more."""
    got = 0
    while places.try_take(person):
        got += 1
    return got


@pytest.fixture(params=POOLS)
def places(request: pytest.FixtureRequest) -> Places:
    pool = POOLS[request.param]
    return Places(total=pool._total, each=pool._each, reserve=pool._reserve)


def test_two_users_with_full_shares_leave_a_slot_for_a_third(places: Places) -> None:
    assert grab(places, "alice") >= 1
    assert grab(places, "bob") >= 1
    assert places.try_take("carol")


def test_no_user_gets_more_than_a_share(places: Places) -> None:
    assert grab(places, "alice") <= places._each < places._total


def test_commands_and_waiting_requests_leave_threads_for_reads(settings: Any) -> None:
    assert COMMANDS._total + WAITS._total < settings.BERTH_THREADS


def test_a_place_that_is_given_back_is_free_again() -> None:
    places = Places(total=1, each=1, reserve=0)
    with places.take("alice"), pytest.raises(NoPlaceError), places.take("bob"):
        pass
    assert places.taken == 0
    with pytest.raises(ZeroDivisionError), places.take("bob"):
        raise ZeroDivisionError
    assert places.taken == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_bounds_hold_in_any_order(seed: int) -> None:
    chance = random.Random(seed)
    total, each = chance.randint(1, 12), chance.randint(1, 6)
    reserve = chance.randint(0, total - 1)
    places, held = Places(total=total, each=each, reserve=reserve), Counter[str]()
    for _ in range(500):
        person = chance.choice("abcdef")
        if chance.random() < 0.4 and held[person]:
            places.give_back(person)
            held[person] -= 1
            continue
        free = total - held.total()
        is_given = places.try_take(person)
        held[person] += is_given
        assert held.total() <= total
        assert held[person] <= each
        if not held[person]:
            assert free == 0  # nobody without a place is refused while one is free
    assert places.taken == held.total()
