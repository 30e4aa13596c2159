"""The instance names that tests use on a Docker engine. Each is recorded with the process of the tests before it is
used.

The next run removes what a test of a killed process has left: containers, volumes, networks, the firewall rules of
their bridges, and images, of the recorded instances alone.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import docker.errors

from containers.docker.gateway.payload import LABEL as GATEWAY_LABEL
from containers.vocabulary import INSTANCE_LABEL
from tests.engines import connect, instance_of_helper, names_of_images
from tests.leftovers import remove_from_engine

LABELS = (INSTANCE_LABEL, GATEWAY_LABEL)


def note_instance(name: str) -> str:
    """Records that this process is about to use the name, and returns it. First removes what others have left."""
    engine = _engine()
    if engine and "/" not in name:
        _note(_notes(), name, engine)
    return name


@cache
def _engine() -> str:
    """Returns the usual engine by id and address, or nothing if none answers.
    Once per process, removes what others have left."""
    with suppress(docker.errors.DockerException):
        client = connect()
        try:
            # All engines of a machine may have one id. Those that tests start have addresses of their own.
            engine = f"{client.info()['ID']} {os.environ.get('DOCKER_HOST', '')}"
            take_away_what_is_left(client, _notes(), engine)
        finally:
            client.close()
        return engine
    return ""


def take_away_what_is_left(client: Any, notes: Path, engine: str) -> list[str]:
    """Returns the names of the instances whose process has ended."""
    with _alone(notes):
        left = [note.name for note in notes.iterdir() if _is_left(note, engine)]
        if left:
            there, images = _instances(client), names_of_images(client)
            for name in left:
                if name in there or any(name in image for image in images):
                    remove_from_engine(name)
                (notes / name).unlink(missing_ok=True)
    return left


def _notes() -> Path:
    folder = Path(tempfile.gettempdir()) / f"berth-tests-{os.getuid()}.instances"
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid(), f"{folder} belongs to another user."
    return folder


def _note(notes: Path, name: str, engine: str) -> None:
    (notes / name).write_text(json.dumps({"engine": engine, **_process(os.getpid())}))


def _is_left(note: Path, engine: str) -> bool:
    """Whether it is on this engine, and its process has ended."""
    try:
        noted = json.loads(note.read_text())
        here, there = _process(os.getpid()), _process(int(noted["pid"]))
    except (OSError, ValueError, KeyError):
        return False  # the lock's own file, or one that is being written
    if noted["engine"] != engine or (noted["pids"] != here["pids"] and noted["boot"] == here["boot"]):
        return False  # of another engine, or of another container with process ids of its own
    return bool(noted["boot"] != here["boot"] or noted["began"] != there["began"])


def _process(pid: int) -> dict[str, Any]:
    """Identifies a process, also among those that had or will have the same id."""
    began = ""
    with suppress(OSError):
        # The 22nd field of the file; the second one may contain spaces and brackets.
        began = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return {"pid": pid, "began": began, "boot": boot, "pids": str(Path("/proc/self/ns/pid").readlink())}


def _instances(client: Any) -> set[str]:
    """Returns the names of instances of which anything is on the engine."""
    found = [
        *client.containers(all=True),
        *(client.volumes()["Volumes"] or []),
        *client.networks(),
    ]
    named = {each["Labels"][label] for each in found for label in LABELS if label in (each.get("Labels") or {})}
    return named | {instance_of_helper(each.get("Labels")) for each in found}


@contextmanager
def _alone(notes: Path) -> Iterator[None]:
    """Several runs of tests may begin at once."""
    with (notes / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
