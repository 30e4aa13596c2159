"""Commands to Alice's project, and what they told the engine to do."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from projects.models import Project
from tests.fakes.engine import MemoryEngine

Change = Callable[..., Any]
"""The fixture `change`: fields to the answer."""

Control = Callable[..., Any]
"""The fixture `control`: a verb and a query to the answer."""


def deploys(engine: MemoryEngine) -> int:
    return [verb for verb, _ in engine.calls].count("deploy")


def in_flight(project: Project, operation: str, *, seconds: float = 60) -> None:
    """Another request seems to be carrying out this operation."""
    deadline = timezone.now() + timedelta(seconds=seconds)
    Project.objects.filter(pk=project.pk).update(
        operation=operation, operation_id="11111111-1111-4111-8111-111111111111", operation_deadline=deadline
    )
