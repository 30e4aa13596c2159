"""A container that the engine was heard to remove, and no longer lists, is not asked for."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from containers.vocabulary import EngineEvent
from projects.models import Project
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.changed import look_at
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine

pytestmark = pytest.mark.django_db


@pytest.fixture
def removed(deploy: Callable[..., Project], engine: MemoryEngine) -> Project:
    """A running agent whose container somebody has removed."""
    project = deploy()
    engine.vanish(project.container_name)
    engine.calls.clear()
    return project


def hear(project: Project, *actions: str) -> RunEnds:
    ends = RunEnds()
    for action in actions:
        told = EngineEvent(
            key=project.container_key, action=action, at=timezone.now(), container_id=project.container_id
        )
        ends.note(told)
    return ends


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize(
    ("actions", "is_asked"), [(("die", "destroy"), False), (("die",), True), (("destroy",), True), ((), True)]
)
def test_only_a_container_that_was_heard_to_be_removed_is_not_asked_for(
    removed: Project, engine: MemoryEngine, actions: tuple[str, ...], is_asked: bool, narrow: bool
) -> None:
    key, ends = removed.container_key, hear(removed, *actions)
    reconcile(changed_keys={key}, find_end=ends.find, repair=False, narrow=narrow)
    assert (("inspect", key) in engine.calls) == is_asked
    removed.refresh_from_db()
    assert removed.container_state == ""
    reconcile(changed_keys={key}, find_end=ends.find, narrow=narrow)
    assert engine.containers[removed.container_name].is_up


def test_a_look_without_a_list_asks(removed: Project, engine: MemoryEngine) -> None:
    """Somebody may have made another container with this key."""
    look_at({removed.container_key}, hear(removed, "die", "destroy"), repair=False)
    assert ("inspect", removed.container_key) in engine.calls
