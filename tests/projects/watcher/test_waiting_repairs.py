"""Many agents without containers wait for their repair: until then rounds ask the engine nothing more about them."""

import threading
from collections.abc import Callable
from uuid import UUID

import pytest

from projects.models import Project
from projects.rules.status.remedies import Remedy
from projects.watcher.reconcile.background import Background
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.project import Repair
from projects.watcher.reconcile.round import Round
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

Handed = dict[UUID, Repair]


@pytest.fixture
def handed() -> Handed:
    """The waiting repairs by project."""
    return {}


@pytest.fixture
def look(handed: Handed) -> Callable[..., Round]:
    def look_again(*, narrow: bool = True, changed_keys: frozenset[str] = frozenset()) -> Round:
        def hand_over(project: Project, repair: Repair) -> None:
            handed[project.pk] = repair

        return reconcile(narrow=narrow, changed_keys=changed_keys, hand_over=hand_over, waiting=set(handed))

    return look_again


@pytest.fixture
def gone(
    victim: Project, others: list[Project], engine: MemoryEngine, look: Callable[..., Round], handed: Handed
) -> list[Project]:
    for each in (victim, *others):
        engine.vanish(each.container_name)
    look()
    assert {each.decision.remedy for each in handed.values()} == {Remedy.RECREATE}
    assert len(handed) == 3
    engine.calls.clear()
    return [victim, *others]


def asked(engine: MemoryEngine) -> list[str]:
    return sorted(key for verb, key in engine.calls if verb == "inspect")


def test_a_round_does_not_inspect_projects_whose_repair_waits(
    gone: list[Project], engine: MemoryEngine, look: Callable[..., Round], handed: Handed
) -> None:
    first = handed.pop(gone[0].pk)  # as if the process that had it was killed
    look()
    assert asked(engine) == [gone[0].container_key]
    assert handed[gone[0].pk].decision == first.decision


def test_a_round_inspects_waiting_projects_with_events_and_a_full_round_inspects_all(
    gone: list[Project], engine: MemoryEngine, look: Callable[..., Round]
) -> None:
    look(changed_keys=frozenset({gone[1].container_key}))
    assert asked(engine) == [gone[1].container_key]
    engine.calls.clear()
    look(narrow=False)
    assert asked(engine) == sorted(each.container_key for each in gone)


def test_a_project_that_came_back_otherwise_is_shown_although_its_repair_waits(
    gone: list[Project], look: Callable[..., Round], handed: Handed
) -> None:
    handed[gone[0].pk]()
    later(gone[0], container_state="", container_id="")  # like a row that was written too early
    look()
    assert {each.pk: each.container_state for each in Project.objects.all()} == {
        gone[0].pk: "running",
        gone[1].pk: "",
        gone[2].pk: "",
    }


def test_a_repair_waits_until_a_slot_is_free(
    gone: list[Project], handed: Handed, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    monkeypatch.setattr("projects.watcher.reconcile.background.STARTS_PER_OWNER", 1)
    monkeypatch.setattr("projects.watcher.reconcile.background.RESERVE", 0)
    monkeypatch.setattr(Repair, "__call__", lambda _: may_end.wait(10))
    background = Background()
    for each in gone:
        background.hand_over(each, handed[each.pk])
    assert background.waiting() == {each.pk for each in gone[1:]}
    may_end.set()
    background.stop()
    assert not background.waiting()
