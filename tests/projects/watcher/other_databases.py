"""Stages an engine and a database that do not belong together: what the watcher finds after a mistake."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from containers.vocabulary import GENERATION_LABEL, INSTALLATION_LABEL, INSTANCE_LABEL
from projects.models import Event, Project
from tests.fakes.engine import MemoryEngine
from tests.installations import theirs

Stage = Callable[[MemoryEngine], object]
LONG_AGO = timedelta(hours=1)


def label(engine: MemoryEngine, **changes: str | None) -> None:
    """Changes labels of all containers and volumes; None removes one. `installation` is short for its label."""
    names = {"installation": INSTALLATION_LABEL, "instance": INSTANCE_LABEL, "generation": GENERATION_LABEL}
    for labels in [*(each.labels for each in engine.containers.values()), *engine.volume_labels.values()]:
        for name, value in changes.items():
            labels.pop(names[name], None)
            if value is not None:
                labels[names[name]] = value


def grow_old(engine: MemoryEngine) -> None:
    """Everything on the engine was created an hour ago."""
    engine.volumes_since = timezone.now() - LONG_AGO
    for container in engine.containers.values():
        container.created_at = timezone.now() - LONG_AGO


def lose_row() -> None:
    """The row is gone, and the events of its project show that it existed."""
    Project.objects.all().delete()


def lose_everything() -> None:
    """As in a database that never knew the project."""
    lose_row()
    Event.objects.all()._raw_delete("default")


def photograph(engine: MemoryEngine) -> Any:
    """Returns everything that the engine has."""
    containers = {name: (each.container_id, each.state, dict(each.labels)) for name, each in engine.containers.items()}
    return containers, set(engine.volumes)


def another_installations(engine: MemoryEngine) -> None:
    label(engine, installation=theirs())


def of_later_deploys(engine: MemoryEngine) -> None:
    label(engine, generation="7")


def of_the_time_before_ids(engine: MemoryEngine) -> None:
    label(engine, installation=None)


def another_instances(engine: MemoryEngine) -> None:
    label(engine, instance="other")


def as_it_is(engine: MemoryEngine) -> None:
    pass
