"""How long a lease is valid, no matter which messages come late, twice, or from another process."""

import random

import pytest
from gateway.entries.leases import LONGEST, Lease, Leases, tick

from containers.gateway.leases import LEASE

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("seed", range(20))
def test_no_history_of_messages_extends_a_lease_beyond_its_newest_reading(seed: int) -> None:
    """The clock is read, and messages based on these readings come late, twice, in any order, or never."""
    chance, now = random.Random(seed), [1000.0]
    leases, readings, ends = Leases(lambda: now[0]), [], 0.0
    for _ in range(200):
        now[0] += chance.expovariate(0.2)
        if chance.random() < 0.5:
            readings.append(leases.as_document())
        if readings and chance.random() < 0.5:
            taken = chance.choice(readings)
            until = taken["clock"] + LEASE
            leases.grant("p", Lease(taken["epoch"], until))
            ends = max(ends, until)
        if chance.random() < 0.05:
            leases.drop("p")
            ends = 0.0
        assert leases.holds("p") == (now[0] < ends)
        leases.take_ended()


def test_a_new_process_knows_no_lease() -> None:
    before, after = Leases(), Leases()
    lease = Lease(before.as_document()["epoch"], tick() + 5)
    assert before.grant("p", lease)
    assert not after.grant("p", lease)


def test_no_lease_exceeds_the_maximum() -> None:
    now = [1000.0]
    leases = Leases(lambda: now[0])
    leases.grant("p", Lease(leases.as_document()["epoch"], 1e9))
    now[0] += LONGEST
    assert not leases.holds("p")
    assert leases.take_ended() == ["p"]
    assert leases.next_end() is None


def test_setting_the_wall_clock_changes_no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases()
    leases.grant("p", Lease(leases.as_document()["epoch"], tick() + 5))
    for step in (-86400.0, 86400.0):
        monkeypatch.setattr("time.time", lambda step=step: step)
        assert leases.holds("p")
        assert leases.next_end() == pytest.approx(5, abs=4.9)
