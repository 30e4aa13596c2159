"""Narrow rows give the same results as the model from which they are read."""

from datetime import timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from accounts.models import User
from containers.vocabulary import ContainerState, Health
from projects.models import AgentType, Plan, Project
from projects.models.processes.watcher import Watch
from projects.models.rows.project import OwnRows, ProjectRow, read_own_project
from projects.rules.status.lifecycle import Desired, Operation

pytestmark = pytest.mark.django_db
NOW = timezone.now()
STATES = ["", *map(str, ContainerState)]
CELLS = list(product(Desired.values, Operation.values, STATES))


@pytest.fixture
def projects(alice: User) -> list[Project]:
    """One for each desired state, operation and container state; the other columns take turns."""
    Watch.objects.create(instance=django_settings.BERTH_INSTANCE, heartbeat_at=NOW, lease_until=NOW + timedelta(9))
    plan, agent_type = Plan.objects.first(), AgentType.objects.first()
    assert plan
    assert agent_type

    def turn(number: int, *values: Any) -> Any:
        return values[number % len(values)]

    return Project.objects.bulk_create(
        Project(
            owner=alice,
            plan=plan,
            agent_type=agent_type,
            instance=turn(number, django_settings.BERTH_INSTANCE, "another"),
            name=f"é {number}",
            settings={"number": number, "nested": {"a": [None, 1.5]}},
            uid=700_000 + number,
            desired=desired,
            operation=operation,
            operation_id=uuid4() if operation else None,
            operation_deadline=NOW + timedelta(seconds=turn(number, -9, 9)) if operation else None,
            container_state=state,
            health=turn(number, *Health),
            suspended_at=turn(number, None, None, NOW),
            observed_at=turn(number, None, NOW - timedelta(hours=1), NOW),
            updated_at=NOW - timedelta(seconds=turn(number, 1, -1)),
            reconcile_failures=turn(number, 0, 0, 0, 2),
            exit_code=turn(number, None, 0, 78),
            started_at=turn(number, NOW, None),
            agent_state=turn(number, "running", "", "degraded"),
            gave_up_at=turn(number, None, None, NOW),
            failure_code=turn(number, "", "", "bot_claimed", "image_missing"),
            telegram_token_ciphertext="a ciphertext",
        )
        for number, (desired, operation, state) in enumerate(CELLS)
    )


def with_heartbeat(owner: User) -> dict[Any, Project]:
    rows = Project.objects.filter(owner=owner).with_heartbeat()
    return {project.pk: project for project in rows.select_related("owner")}


def test_a_row_gives_the_facts_of_its_project(projects: list[Project], alice: User) -> None:
    rows, whole = OwnRows(alice.pk)[:], with_heartbeat(alice)
    assert [row.id for row in rows] == list(whole)
    assert len(rows) == len(projects) == len(CELLS)
    for row in rows:
        project = whole[row.id]
        assert row.facts(NOW) == project.facts(NOW)
        for column in ProjectRow._fields:
            assert getattr(row, column) == getattr(project, column), column


def test_one_project_is_read_with_every_shown_field(projects: list[Project], alice: User) -> None:
    for pk, project in with_heartbeat(alice).items():
        found = read_own_project(alice, pk)
        assert found is not None
        assert found.facts(NOW) == project.facts(NOW)
        read = {name: value for name, value in vars(found).items() if not name.startswith("_")}
        assert read == {name: getattr(project, name) for name in read}
        assert [name for name in read if "ciphertext" in name] == ["pairing_secret_ciphertext"]


def test_a_page_has_the_requested_length(projects: list[Project], alice: User) -> None:
    everything = OwnRows(alice.pk)[:]
    for size in (1, 20, len(CELLS), 200):
        assert OwnRows(alice.pk)[:size] == everything[:size]


def test_projects_of_others_are_excluded(projects: list[Project], bob: User) -> None:
    assert OwnRows(bob.pk)[:] == []
    assert read_own_project(bob, projects[0].pk) is None
    assert read_own_project(bob, uuid4()) is None


def test_another_order_is_refused(alice: User) -> None:
    assert OwnRows(alice.pk).order_by("-created_at", "-id")[:] == []
    with pytest.raises(ValueError, match="the order of the model"):
        OwnRows(alice.pk).order_by("name")
