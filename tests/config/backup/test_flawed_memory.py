"""An agent that changes its files while they are copied, and what an older backup has of one."""

import io
import itertools
import tarfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from config.backup import memory as memories
from config.backup.memory_tar import CUT_OFF, FOREIGN, find_flaw
from containers.errors import EngineRefusedError
from projects.models import Project
from projects.services.inventory.memory import KeptMemory, read_memory
from tests.config.backup.conftest import Run
from tests.config.backup.flawed_memories import END, FLAWED, HOSTILE, LONG
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state, unpack_state

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]


def test_a_whole_archive_has_no_flaw_and_every_shorter_one_does() -> None:
    assert find_flaw(io.BytesIO(END)) == find_flaw(io.BytesIO(LONG)) == find_flaw(io.BytesIO(pack_state({}))) == ""
    for length in range(0, len(END), 256):
        assert find_flaw(io.BytesIO(END[:length])) == CUT_OFF, length


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_an_archive_of_any_format_is_whole(form: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, kind in (("data/", tarfile.DIRTYPE), ("data/f", tarfile.FIFOTYPE), ("data/l", tarfile.SYMTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.mtime = kind, "/etc/passwd" if kind == tarfile.SYMTYPE else "", 1.5
            archive.addfile(entry)
    assert find_flaw(io.BytesIO(buffer.getvalue())) == ""


@pytest.fixture
def old_backup(volumes: list[str], archive: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes a backup as older versions did: whatever the engine has handed out is in it."""

    def make() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(memories, "find_flaw", lambda file: list(iter(file.read, b"")) and "")
            run("backup", archive, "--with-memory")

    return make


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", [*FLAWED, *HOSTILE])
def test_an_older_backup_restores_all_memories_but_the_flawed_one(
    what: str, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run, old_backup: Callable[[], None]
) -> None:
    engine.states[volumes[1]] = (FLAWED | HOSTILE)[what]
    old_backup()
    expected = {**engine.states, volumes[1]: pack_state({"newer": "memory"})}
    engine.states.update({volume: pack_state({"newer": "memory"}) for volume in volumes})
    said = run("restore", archive, "--with-memory", "--replace", "--dry-run")
    assert said.count("will NOT be restored") == 1
    assert engine.volume_labels[volumes[1]]["berth.project"] in said
    assert "Restored" in run("restore", archive, "--with-memory", "--replace")
    assert engine.states == expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", [*FLAWED, *HOSTILE])
def test_a_backup_leaves_out_a_memory_that_could_not_be_restored(
    what: str, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    engine.states[volumes[1]] = (FLAWED | HOSTILE)[what]
    said = run("backup", archive, "--with-memory")
    assert said.count("NOT in the archive") == 1
    assert f"The memory of {engine.volume_labels[volumes[1]]['berth.project']} is NOT in the archive: its copy" in said
    assert "2 agents' memories" in said
    assert "will NOT" not in run("restore", archive, "--with-memory", "--replace")


@pytest.mark.parametrize("what", HOSTILE)
def test_a_memory_that_would_write_elsewhere_is_not_restored(
    what: str, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run, old_backup: Callable[[], None]
) -> None:
    engine.states[volumes[1]] = HOSTILE[what]
    old_backup()
    engine.states[volumes[1]] = pack_state({})
    engine.calls.clear()
    assert f"will NOT be restored: {FOREIGN}" in run("restore", archive, "--with-memory", "--replace")
    key = engine.volume_labels[volumes[1]]["berth.project"]
    assert not [call for call in engine.calls if call[0] in {"stop", "remove", "write_state"} and call[1] == key]


@pytest.mark.parametrize("whole_at", [1, 2, memories.TRIES, 2 * memories.TRIES, 2 * memories.TRIES + 1])
def test_a_flawed_copy_is_made_again(
    whole_at: int, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    """`whole_at` is the first attempt that gives a whole archive."""
    reads = itertools.count(1)

    def flaw() -> None:
        if engine.calls[-1][1] == key:
            is_whole = next(reads) >= whole_at
            engine.states[volumes[0]] = pack_state({"a": "b"}) if is_whole else FLAWED["in a file"]

    key = engine.volume_labels[volumes[0]]["berth.project"]
    engine.slow("read_state", flaw)
    said = run("backup", archive, "--with-memory")
    assert said.count("NOT in the archive") == (whole_at > 2 * memories.TRIES)
    engine.slow("read_state", None)
    run("restore", archive, "--with-memory", "--replace")
    if whole_at <= 2 * memories.TRIES:
        assert unpack_state([engine.states[volumes[0]]]) == {"a": "b"}


def test_an_agent_that_never_rests_and_is_sometimes_whole_is_kept(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    reads = itertools.count()

    def write() -> None:
        number = next(reads)
        engine.states[volumes[0]] = FLAWED["in a file"] if number % 5 else pack_state({"count": str(number)})

    engine.slow("read_state", write)
    said = run("backup", archive, "--with-memory")
    assert "3 agents' memories" in said
    assert "writes all the time" in said


def refuse(monkeypatch: pytest.MonkeyPatch, keys: set[str], times: int) -> None:
    """Lets the engine refuse to hand out the memories of these agents, this often each."""
    left = dict.fromkeys(keys, times)

    def read(kept: KeptMemory) -> Generator[bytes]:
        if left.get(kept.key):
            left[kept.key] -= 1
            raise EngineRefusedError("It is in use.")
        yield from read_memory(kept)

    monkeypatch.setattr(memories, "read_memory", read)


@pytest.mark.parametrize(("times", "written"), [(1, 3), (1000, 2)])
def test_a_memory_that_the_engine_refuses_is_asked_for_again_and_then_left_out(
    times: int, written: int, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    refuse(monkeypatch, {engine.volume_labels[volumes[0]]["berth.project"]}, times)
    said = run("backup", archive, "--with-memory")
    assert f"{written} agents' memories" in said
    assert said.count("NOT in the archive: It is in use.") == 3 - written


def test_an_engine_that_refuses_every_memory_leaves_no_archive(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, {engine.volume_labels[volume]["berth.project"] for volume in volumes}, 1000)
    with pytest.raises(CommandError, match="cannot be read: It is in use"):
        run("backup", archive, "--with-memory")
    assert not archive.exists()


def test_a_memory_that_the_engine_refuses_to_take_holds_up_no_other(
    volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    states = dict(engine.states)
    run("backup", archive, "--with-memory")
    refused = iter([True])

    def once() -> None:
        if next(refused, False):
            raise EngineRefusedError("It does not take this.")

    engine.slow("write_state", once)
    with pytest.raises(CommandError, match="All other memories are restored") as caught:
        run("restore", archive, "--with-memory", "--replace")
    assert str(caught.value).count("cannot be written") == 1
    assert "Restored" in run("restore", archive)
    assert len([volume for volume in volumes if engine.states.get(volume) == states[volume]]) == 2
    assert Project.objects.count()
