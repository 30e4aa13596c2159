"""Agents' memories, into an archive and back, with the engine in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from config.backup import memory as memories
from containers.errors import EngineError, EngineUnavailableError
from projects.models import Plan, Project
from projects.services.inventory.memory import KeptMemory, read_memory
from projects.watcher.reconcile.full import reconcile
from tests.config.backup.conftest import Run
from tests.config.backup.rows import photograph
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state, unpack_state

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]


@pytest.mark.parametrize("is_empty", [True, False], ids=["empty engine", "containers run"])
def test_memory_is_restored_and_agents_run_again(
    is_empty: bool, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    states, before = dict(engine.states), photograph()
    assert "3 agents' memories" in run("backup", archive, "--with-memory")
    for volume in volumes:
        engine.states[volume] = pack_state({"lost": "all"})
    if is_empty:
        engine.reset()
    said = run("restore", archive, "--with-memory", "--replace")
    assert "(3 of 3)" in said
    assert engine.states == states
    assert photograph() == before
    for _ in range(2):
        reconcile()
    assert engine.states == states
    assert sorted(each.key for each in engine.containers.values() if each.is_up) == sorted(
        str(pk) for pk in Project.objects.values_list("pk", flat=True)
    )


def test_without_the_option_no_memory_is_touched(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    run("backup", archive)
    engine.states[volumes[0]] = pack_state({"newer": "memory"})
    with pytest.raises(CommandError, match="made without --with-memory"):
        run("restore", archive, "--replace", "--with-memory")
    run("restore", archive, "--replace")
    assert unpack_state([engine.states[volumes[0]]]) == {"newer": "memory"}
    assert not [call for call in engine.calls if call[0] in {"read_state", "write_state", "remove"}]


def test_a_memory_that_changes_meanwhile_is_read_until_it_is_consistent(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two readings that agree; and the last one, marked, of an agent that never rests."""
    reads = 0

    def write() -> None:
        nonlocal reads
        reads += 1
        if reads <= limit:
            engine.states[volumes[0]] = pack_state({"count": str(reads)})

    engine.slow("read_state", write)
    limit = 3
    said = run("backup", archive, "--with-memory")
    assert "all the time" not in said
    limit = 10_000
    said = run("backup", archive, "--with-memory")
    assert said.count("writes all the time") == 1
    engine.slow("read_state", None)
    run("restore", archive, "--with-memory", "--replace")
    assert unpack_state([engine.states[volumes[0]]])["count"]


def test_an_agent_deleted_meanwhile_is_left_out(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    engine.slow("read_state", lambda: engine.volumes.discard(volumes[0]))
    said = run("backup", archive, "--with-memory")
    assert "no longer exists" in said
    assert "2 agents' memories" in said


def test_files_with_holes_do_not_fill_the_disk_of_the_backup(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.services.inventory.memory.MARGIN", 0)
    Plan.objects.update(disk_mb=1)
    engine.states[volumes[0]] = pack_state({"hole": "x" * (3 << 20)})
    said = run("backup", archive, "--with-memory")
    assert "NOT in the archive" in said
    assert "2 agents' memories" in said
    assert archive.stat().st_size < 3 << 20
    run("restore", archive, "--with-memory", "--replace")


def test_agents_created_between_the_two_readings_are_left_out(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second reading stops after as many bytes as are kept."""
    monkeypatch.setattr("projects.services.inventory.memory.MARGIN", 0)
    Plan.objects.update(disk_mb=1)
    states: list[dict[str, str]] = [{"small": "x"}, {"hole": "x" * (9 << 20)}]
    read: list[int] = []

    def grow() -> None:
        engine.states[volumes[0]] = pack_state(states[len(read) % 2])
        read.append(0)

    def count(kept: KeptMemory) -> Iterator[bytes]:
        for piece in read_memory(kept):
            read[-1] += len(piece)
            yield piece

    monkeypatch.setattr(memories, "read_memory", count)
    engine.slow("read_state", grow)
    run("backup", archive, "--with-memory")
    assert max(read) < 3 << 20


@pytest.mark.parametrize("verb", ["list_volumes", "read_state"])
def test_an_engine_that_fails_leaves_no_archive(
    verb: str, volumes: list[str], archive: Path, folder: Path, engine: MemoryEngine, run: Run
) -> None:
    engine.fail(verb, EngineUnavailableError)
    with pytest.raises(CommandError, match="cannot be read"):
        run("backup", archive, "--with-memory")
    assert list(folder.iterdir()) == []


def test_a_missing_image_is_reported_before_anything_is_written(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    run("backup", archive, "--with-memory")
    before = photograph(), dict(engine.states), set(engine.containers)
    engine.images.clear()
    with pytest.raises(CommandError, match=r"manage\.py build_images"):
        run("restore", archive, "--with-memory", "--replace")
    assert (photograph(), engine.states, set(engine.containers)) == before


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("verb", "at"),
    [("stop", 1), ("remove", 2), ("write_state", 3), ("write_state.fill", 1), ("write_state.fill", 2)],
)
def test_a_restore_that_ends_at_any_memory_is_run_again_and_ends_the_same(
    at: int, verb: str, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    """A memory that is done is not restored again. Berth does not start in between."""
    states, before = dict(engine.states), photograph()
    run("backup", archive, "--with-memory")
    seen = 0

    def break_down() -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            raise KeyboardInterrupt

    engine.slow(verb, break_down)
    with pytest.raises(KeyboardInterrupt):
        run("restore", archive, "--with-memory", "--replace")
    engine.slow(verb, None)
    assert photograph() == before  # from before the restore, and the same here
    with pytest.raises(CommandError, match="A restore has begun but not finished"):
        run("prepare")
    engine.calls.clear()
    run("restore", archive, "--with-memory")
    assert len([call for call in engine.calls if call[0] == "write_state"]) == 4 - at
    assert engine.states == states
    assert photograph() == before
    assert "It has already been restored here" in run("restore", archive, "--with-memory")


def test_a_failure_of_the_engine_is_reported_and_the_rest_continues_later(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    run("backup", archive, "--with-memory")
    engine.fail("write_state", EngineError)
    with pytest.raises(CommandError, match="Run this again"):
        run("restore", archive, "--with-memory", "--replace")
    assert memories.TRIES > 1
    assert "Restored" in run("restore", archive, "--with-memory")
