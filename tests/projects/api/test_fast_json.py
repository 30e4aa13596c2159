"""Fast JSON is the same as that of the serializers, byte by byte."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st
from rest_framework.renderers import JSONRenderer

from accounts.models import User
from containers.vocabulary import ContainerState, Health
from projects.api.fast_json import render_detail, render_list
from projects.api.serializers.project import ProjectDetailSerializer, ProjectSerializer
from projects.models import Plan, Project, Spending
from projects.models.rows.snapshot import Snapshot, take_snapshot
from projects.rules.permissions import Egress
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Desired, Operation
from projects.rules.status.sentences import SENTENCES
from projects.rules.status.statuses import Status
from tests.projects.rules.facts import NOW, WELL

BOOLS = (False, True)
OWNER = User(email="alice@example.com")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - as asked
NEAR_NOW = st.sampled_from([NOW - timedelta(seconds=seconds) for seconds in (-60, 0, 2, 4, 6, 600)])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PROJECTS = st.builds(
    Project,
    owner=st.just(OWNER),
    id=st.uuids(),
    name=TEXT,
    plan=st.builds(Plan, slug=TEXT, disk_mb=st.integers(16, 1 << 24)),
    disk_used=st.none() | st.integers(0, 1 << 62),
    disk_files=st.none() | st.integers(0, 1 << 62),
    disk_measured_at=st.none() | MOMENTS,
    agent_type_id=TEXT,
    settings=st.dictionaries(TEXT, JSON, max_size=3),
    created_at=MOMENTS,
    updated_at=NEAR_NOW,
    desired=st.sampled_from(Desired.values),
    suspended_at=st.none() | NEAR_NOW,
    operation=st.sampled_from(Operation.values),
    operation_deadline=st.none() | NEAR_NOW,
    observed_at=st.none() | NEAR_NOW,
    container_state=st.sampled_from(["", *map(str, ContainerState)]),
    health=st.sampled_from([str(health) for health in Health]),
    exit_code=st.none() | st.integers(0, 255),
    oom_killed=st.booleans(),
    restarts=st.integers(0, 9),
    started_at=st.none() | NEAR_NOW,
    finished_at=st.none() | MOMENTS,
    agent_paired=st.none() | st.integers(0, 9),
    agent_state=st.sampled_from(["", "starting", "running", "degraded", "failed"]),
    agent_code=st.sampled_from(["", *SENTENCES]),
    failure_code=st.sampled_from(["", *SENTENCES]),
    failed_at=st.none() | MOMENTS,
    gave_up_at=st.none() | MOMENTS,
    log_tail=st.lists(TEXT, max_size=3).map("\n".join),
    bot_id=st.none() | st.integers(0, 2**62),
    bot_username=TEXT,
    provider=TEXT,
    own_day_tokens=st.none() | st.integers(0, 10**15),
    own_month_money=st.none() | st.decimals(0, 10**8, places=2),
    budget_until=st.none() | NEAR_NOW,
    seen_code=st.sampled_from(["", "provider_key"]),
    own_egress=st.sampled_from(Egress.values),
)
COUNTED = st.integers(0, 1 << 53)
SPENDING = st.none() | st.builds(
    Spending,
    day=st.sampled_from([NOW.date(), NOW.date() - timedelta(days=1)]),
    month=st.just(NOW.date().replace(day=1)),
    **{f"{period}_{name}": COUNTED for period in ("day", "month") for name in ("messages", "tokens", "money")},
)


def serialized(data: Any) -> bytes:
    body: bytes = JSONRenderer().render(data)
    return body


PERMISSIONS = st.tuples(st.sampled_from(Egress.values), TEXT, TEXT)


def know(project: Project, permissions: tuple[str, str, str] = ("internet", "", "")) -> None:
    egress, of_type, of_plan = permissions
    project.cache_type_image("")
    project.cache_permissions(egress=egress, of_type=of_type, of_plan=of_plan)


def hostile() -> Project:
    """Values that JSON, orjson and JavaScript treat differently."""
    name = '\u2028\u2029 </script> \\ " \x7f \U0001f6a2 é'
    settings = {name: [2**70, -(2**70), 1e22, 0.1, -0.0]}
    project = Project(id=UUID(int=0), owner=OWNER, plan=Plan(slug=name), name=name, settings=settings, log_tail=name)
    project.cache_spending(None)
    know(project)
    return project


@given(PROJECTS, SPENDING, PERMISSIONS)
@example(hostile(), None, ("gateway", "b\na", "</script>"))
def test_the_fast_json_of_a_project_equals_its_serializer_s(
    project: Project, spending: Spending | None, permissions: tuple[str, str, str]
) -> None:
    project.cache_spending(spending)
    know(project, permissions)
    snapshot = take_snapshot(project, now=NOW)
    assert render_detail(snapshot) == serialized(ProjectDetailSerializer(snapshot).data)


@given(st.lists(PROJECTS, max_size=4))
@example([hostile()])
def test_the_fast_json_of_the_list_equals_its_serializer_s(projects: list[Project]) -> None:
    snapshots = [take_snapshot(project, now=NOW) for project in projects]
    told = [(snapshot.project, snapshot.facts) for snapshot in snapshots]
    assert render_list(told) == serialized([ProjectSerializer(snapshot).data for snapshot in snapshots])


def test_the_fast_json_of_every_status_equals_its_serializer_s() -> None:
    cells = product(Desired, Operation, (None, *ContainerState), (None, NOW), ("", "running", "starting"), BOOLS, BOOLS)
    examples = {}
    for desired, operation, state, checked_at, agent_state, suspended, failed in cells:
        facts = WELL._replace(
            desired=desired, operation=operation, state=state, checked_at=checked_at, agent_state=agent_state,
            suspended=suspended, failed=failed, is_watched=not failed, health=Health.NONE, started_at=NOW, exit_code=1,
        )  # fmt: skip
        examples[derive_status(facts)] = facts
    examples[Status.DEGRADED] = WELL._replace(health=Health.UNHEALTHY)
    assert set(examples) == set(Status)
    for facts in examples.values():
        snapshot = Snapshot(project=hostile(), facts=facts)
        assert render_list([(snapshot.project, facts)]) == serialized([ProjectSerializer(snapshot).data])
        assert render_detail(snapshot) == serialized(ProjectDetailSerializer(snapshot).data)
