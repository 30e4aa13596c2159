"""Ways in which containers come to differ from their rows, and the correct statuses meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from projects.models import Project, Watch
from tests.chaos.docker_instance import DockerInstance

UP = frozenset({"running", "starting"})
TRUE_OF = {
    "running": UP | {"degraded"},
    "exited": frozenset({"crashed"}),
    "restarting": frozenset({"restarting", "crashed"}),
    "paused": frozenset({"degraded"}),
    "created": frozenset({"crashed"}),
    "removing": frozenset({"crashed"}),
    "": frozenset({"crashed", "failed"}),
}
MENDING = frozenset({"starting", "restarting", "stopping", "unknown"})
"""Statuses while the watcher works on it, or while nothing is known."""


@dataclass(frozen=True)
class Drift:
    """`state` is the engine's state right after it; `ends` is the final state of the engine and the API."""

    do: Callable[[DockerInstance, str], object]
    state: str
    ends: str = "running"
    code: str = ""


DRIFTS = {
    "exit 0": Drift(lambda docker, name: docker.tell_stub(name, "exit0"), "running"),
    "exit 1": Drift(lambda docker, name: docker.tell_stub(name, "exit1"), "running"),
    "out of memory": Drift(lambda docker, name: docker.tell_stub(name, "oom"), "running"),
    "docker kill": Drift(lambda docker, name: docker.client.kill(name), "exited"),
    "docker stop": Drift(lambda docker, name: docker.client.stop(name), "exited"),
    "docker rm -f": Drift(lambda docker, name: docker.client.remove_container(name, force=True), ""),
    "docker pause": Drift(lambda docker, name: docker.client.pause(name), "paused"),
    "exit 0 for ever": Drift(lambda docker, name: docker.tell_stub(name, "exit0", for_ever=True), "exited", "exited"),
    "exit 1 for ever": Drift(lambda docker, name: docker.tell_stub(name, "exit1", for_ever=True), "exited", "exited"),
    "exit 20": Drift(lambda docker, name: docker.tell_stub(name, "exit20", for_ever=True), "exited", "exited"),
    "out of memory for ever": Drift(
        lambda docker, name: docker.tell_stub(name, "oom", for_ever=True), "exited", "exited"
    ),
}
ONCE = ("exit 0", "exit 1", "out of memory")


def grow_old(project: Project) -> None:
    """Makes everything that was seen so far too old."""
    long_ago = timezone.now() - timedelta(minutes=1)
    Project.objects.filter(pk=project.pk).update(observed_at=long_ago, updated_at=long_ago)
    Watch.objects.all().delete()
