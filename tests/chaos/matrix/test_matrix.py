"""A fault of `tests.chaos.matrix`, another one for each commit, with every verb; and its tools."""

import os
import random
from pathlib import Path

import pytest

from tests.chaos.database.postgres import find_programs
from tests.chaos.matrix.fault import STOPS
from tests.chaos.matrix.faults import ELSEWHERE, FAULTS, draw
from tests.chaos.matrix.reader import choose, is_lie
from tests.chaos.matrix.record import Record
from tests.chaos.matrix.trial import Outcome
from tests.chaos.matrix.verbs import VERBS
from tests.chaos.matrix.witness import Sighting
from tests.chaos.sampling import try_sample

PROCESSES = (
    "web worker",
    "watcher",
    "serve",
    "database",
    "engine",
    "mail",
    "telegram",
    "provider",
    "redis",
    "leader",
    "names",
    "gateway",
)


@pytest.mark.rare(3)
@pytest.mark.docker
@pytest.mark.timeout(600)
@pytest.mark.skipif(find_programs() is None, reason="PostgreSQL is not installed.")
@pytest.mark.skipif(os.geteuid() != 0, reason="Only root may make a network.")
def test_a_sample_of_the_faults_is_survived(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """`python -m tests.chaos.matrix --sample 1 --seed …` takes the same one."""
    record = tmp_path / "record"
    try_sample("tests.chaos.matrix", pytestconfig, "--record", str(record))
    assert len(Record(record).outcomes()) == 1


@pytest.mark.one_database
def test_the_matrix_kills_and_pauses_every_process_for_each_duration() -> None:
    for process in PROCESSES:
        assert {f"{process}/kill", *(f"{process}/stop {seconds:.0f} s" for seconds in STOPS)} <= set(FAULTS)
    assert not set(FAULTS) & set(ELSEWHERE)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("status", "states", "lies"),
    [
        ("running", "", False),
        ("running", "rs", False),
        ("running", "ss", True),
        ("running", "ps", True),
        ("degraded", "s", True),
        ("degraded", "r", False),
        ("degraded", "p", False),
        ("stopped", "rr", True),
        ("stopped", "rp", True),
        ("failed", "rs", False),
        ("unknown", "r", False),
        ("unknown", "s", False),
    ],
)
def test_a_status_that_was_true_at_no_moment_is_a_lie(status: str, states: str, *, lies: bool) -> None:
    """`states`: r for running, p for paused, s for stopped."""
    seen = [[frozenset(["p"] if state == each else []) for each in "rp"] for state in states]
    sightings = [Sighting(float(at), running, paused) for at, (running, paused) in enumerate(seen)]
    assert is_lie(status, "p", sightings) is lies


@pytest.mark.one_database
def test_a_read_is_compared_with_the_sightings_around_it() -> None:
    sightings = [Sighting(float(at), frozenset()) for at in range(10)]
    assert [sighting.at for sighting in choose(sightings, 3.5, 5.5)] == [3, 4, 5, 6]
    assert [sighting.at for sighting in choose(sightings, 3.2, 3.8)] == [3, 4]
    assert choose(sightings, -1.0, 5.0) == choose(sightings, 5.0, 20.0) == choose([], 1.0, 2.0) == []


@pytest.mark.one_database
def test_a_run_resumes_where_the_last_one_ended(tmp_path: Path) -> None:
    record = Record(tmp_path / "folder" / "record")
    first, second, *others = FAULTS
    assert record.todo() == list(FAULTS)
    statuses = dict.fromkeys(VERBS, 200)
    for fault, wrong in ((first, []), (second, ["stop: status 500"])):
        record.add(Outcome(fault, None, statuses, slowest=1.0, healed_after=2.0, wrong=wrong))
    assert record.todo() == [second, *others]
    table = record.table()
    assert f"| {first} | 1 | 0 | 1.0 s | 2.0 s |  | 0 |" in table
    assert f"16 of {8 * len(FAULTS)} cells" in table
    assert f"Not tried: {', '.join(others)}." in table


@pytest.mark.one_database
def test_a_short_run_draws_faults_of_one_kind_of_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {fault.kind for fault in FAULTS.values()}
    for there in (every, every - {"redis", "gateway"}):
        monkeypatch.setattr("tests.chaos.matrix.faults.find_kinds", lambda there=there: set(there))
        drawn = {frozenset(FAULTS[name].kind for name in draw(2, random.Random(seed))) for seed in range(200)}
        assert drawn == {frozenset({kind}) for kind in there - {"clock"}}
