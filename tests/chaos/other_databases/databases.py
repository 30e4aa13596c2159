"""What must not change on the engine, and for how long the tests watch it."""

from typing import Any

from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from projects.models import Event, Project, Watch
from tests.chaos.docker_instance import DockerInstance
from tests.waiting import wait_until

WITHIN = 35.0
ROUNDS = 4


def photograph(docker_instance: DockerInstance) -> Any:
    """Returns everything that the engine has of this instance: ids, states, starts, and volumes."""
    chosen = {"label": [f"{INSTANCE_LABEL}={docker_instance.name}"]}
    found = [
        docker_instance.client.inspect_container(each)
        for each in docker_instance.client.containers(all=True, filters=chosen)
    ]
    containers = {each["Id"]: (each["Name"], each["State"]["Status"], each["State"]["StartedAt"]) for each in found}
    return containers, docker_instance.volumes()


def wait_for_rounds(count: int = ROUNDS) -> None:
    """Waits until the watcher has made this many rounds."""

    def beat() -> Any:
        return Watch.objects.values_list("heartbeat_at", flat=True).first()

    beats = {beat()}
    while len(beats) <= count:
        wait_until(lambda: beat() not in beats, within=WITHIN)
        beats.add(beat())


def lose_everything() -> None:
    Project.objects.all().delete()
    Event.objects.all()._raw_delete("default")


def volumes_of(docker_instance: DockerInstance, project: Project) -> set[str]:
    chosen = {"label": [f"{INSTANCE_LABEL}={docker_instance.name}", f"{PROJECT_LABEL}={project.pk}"]}
    return {each["Name"] for each in docker_instance.client.volumes(filters=chosen)["Volumes"] or []}
