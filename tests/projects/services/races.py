"""Lets two things happen at a chosen step, and makes rows as a killed process leaves them."""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Project, Watch
from tests.fakes.engine import MemoryEngine

Act = Callable[[], object]


def once(engine: MemoryEngine, verb: str, act: Act) -> None:
    """Acts at the beginning of the next call of the verb."""

    def hook() -> None:
        engine.slow(verb, None)
        act()

    engine.slow(verb, hook)


def held(project: Project, operation: str, *, seconds: float, **fields: object) -> None:
    """Makes the row as if a server had been killed `seconds` before (or after) the deadline of an operation."""
    Project.objects.filter(pk=project.pk).update(
        operation=operation,
        operation_id=project.pk,
        operation_deadline=timezone.now() + timedelta(seconds=seconds),
        updated_at=timezone.now() - timedelta(minutes=1),
        **fields,
    )


def beat(**ago: float) -> None:
    at = timezone.now() - timedelta(**ago)
    Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults={"heartbeat_at": at})


def grow_old(project: Project) -> None:
    long_ago = timezone.now() - timedelta(minutes=1)
    Project.objects.filter(pk=project.pk).update(observed_at=long_ago, updated_at=long_ago)


def status(api: APIClient, project: Project) -> str:
    return str(api.get(f"/api/projects/{project.id}").json()["status"])


def generation(engine: MemoryEngine, project: Project) -> int:
    return engine.containers[project.container_name].observation.generation
