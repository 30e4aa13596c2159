"""Named points of the service at which its process can be killed, and a history of which process held which project.

Production code does not know about them: the functions that it calls are wrapped from outside.

If the file `trigger` contains the name of a point, the next process that reaches this point is killed as by `kill -9`:
nothing is flushed, rolled back or closed. If the file `hold` contains it, the next process renames that file to `held`
and waits there until it is gone.
"""

import functools
import json
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

Wrapped = Callable[..., Any]

CLIENT_CALLS = ("create_container_from_config", "put_archive", "start", "stop", "remove_container", "remove_volume")


def folder() -> Path:
    return Path(os.environ["CHAOS_DIR"])


def pass_by(point: str) -> None:
    wait_at(point)
    trigger = folder() / "trigger"
    try:
        wanted = trigger.read_text()
    except FileNotFoundError:
        return
    if wanted == point:
        trigger.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def wait_at(point: str) -> None:
    hold, held = folder() / "hold", folder() / "held"
    if hold.exists() and hold.read_text() == point:
        hold.rename(held)
        while held.exists():
            time.sleep(0.01)


def note(**what: Any) -> None:
    """Appends one line to the history. CLOCK_MONOTONIC is the same in all processes of a machine."""
    line = json.dumps({"at": time.monotonic(), "pid": os.getpid(), **what}) + "\n"
    descriptor = os.open(folder() / "history", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def surround(owner: Any, name: str, label: Callable[..., str] | None = None) -> None:
    """Puts a point before and one after every call of `owner.name`."""
    original: Wrapped = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        what = label(*args, **kwargs) if label else name.strip("_")
        pass_by(f"before {what}")
        result = original(*args, **kwargs)
        pass_by(f"after {what}")
        return result

    setattr(owner, name, wrapped)


def install() -> None:
    from containers.docker_api.client import DockerClient
    from projects.models import Project
    from projects.models.project import ProjectQuerySet
    from projects.rules.status import lifecycle
    from projects.services.commands import creation

    if seconds := os.environ.get("CHAOS_LEASE"):
        lifecycle.LEASE = timedelta(seconds=int(seconds))
    keep_history(Project)
    for name in ("claim", "record"):
        surround(Project, name)
    surround(ProjectQuerySet, "delete", lambda *_args, **_kwargs: "delete row")
    surround(creation, "_insert_claimed", lambda *_args, **_kwargs: "insert row")
    for name in CLIENT_CALLS:
        surround(DockerClient, name, functools.partial(label_call, name))


def label_call(name: str, _client: Any, subject: Any = "", *_args: Any, **_kwargs: Any) -> str:
    """Returns the name of the call, and for a volume which of the two it is."""
    return f"{name} {subject.rpartition('-')[2]}" if name == "remove_volume" else name


def keep_history(project_class: Any) -> None:
    claim, record = project_class.claim, project_class.record

    def noted_claim(self: Any, operation: Any, **wants: Any) -> Any:
        held = claim(self, operation, **wants)
        if held is not None:
            note(event="claim", project=str(self.pk), claim=str(held.id), operation=str(operation))
        return held

    def noted_record(self: Any, held: Any, **what: Any) -> bool:
        asked_at = time.monotonic()
        done: bool = record(self, held, **what)
        note(event="record", project=str(self.pk), claim=str(held.id), asked_at=asked_at, done=done)
        return done

    project_class.claim, project_class.record = noted_claim, noted_record
