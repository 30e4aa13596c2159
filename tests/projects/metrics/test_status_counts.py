"""One statement counts the statuses as the list derives them, no matter what the rows,
the watcher and the clock say."""

from collections import Counter
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import clock
from accounts.models import User
from projects.models import AgentType, Plan, Project, Watch
from projects.rules.status.lifecycle import LEASE, Operation
from projects.services.staff.overview import read_known_projects
from projects.services.staff.status_counts import count_projects
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

ROWS, STATES, KINDS_OF_ROWS = 200, 6, 25
"""Rows of one kind differ in at most one column, so most of them share a group with others."""

AGES = (0.0, 0.5, 1.0, 2.9, 3.1, 4.9, 5.0, 5.1, 31.0, 99.0, 100.0, 101.0, 300.0, -0.5, -1.0, -2.0, -30.0)
VALUES: dict[str, tuple[Any, ...]] = {
    "desired": ("running", "running", "running", "stopped", "deleted"),
    "container_state": ("", "running", "running", "exited", "paused", "restarting", "dead"),
    "health": ("none", "starting", "healthy", "unhealthy"),
    "agent_state": ("", "running", "degraded", "failed"),
    "agent_code": ("", "telegram_token", "provider_key"),
    "failure_code": ("", "", "crash", "firewall_missing", "disk_full", "bot_claimed"),
    "exit_code": (None, 0, 1, 20),
    "reconcile_failures": (0, 0, 0, 3),
    "is_behind_gateway": (True, False),
    "seen_code": ("", "", "provider_key"),
    "seen_well": ("", "telegram", "telegram provider"),
    "instance": (settings.BERTH_INSTANCE, settings.BERTH_INSTANCE, "another", "watched by nobody"),
}
OFTEN = ("updated_at", "observed_at", "started_at")
SELDOM = ("suspended_at", "gave_up_at", "polled_at", "budget_until")


def make(draw: Random, now: datetime, owners: list[User], types: list[AgentType]) -> dict[str, Any]:
    values = {name: draw.choice(choices) for name, choices in VALUES.items()}
    for name in (*OFTEN, *SELDOM):
        if draw.random() < (0.9 if name in OFTEN else 0.2) or name == "updated_at":
            values[name] = now - timedelta(seconds=draw.choice(AGES))
    if draw.random() < 0.1:
        until = now + timedelta(seconds=draw.choice((-5, 5, 70, 500)))
        values |= {"operation": draw.choice(Operation.values[1:]), "operation_id": uuid4(), "operation_deadline": until}
    if draw.random() < 0.4:
        values |= {"container_state": "", "health": "none", "reconcile_failures": 0}  # many of these are at rest
    elif draw.random() < 0.5:
        of_no_check = {"desired": "running", "container_state": "running", "health": "none", "seen_code": ""}
        started_at = now - timedelta(seconds=draw.choice((99.0, 101.0)))  # their status depends on the start
        values |= of_no_check | {"agent_state": draw.choice(("", "starting")), "started_at": started_at}
    return values | {"owner": draw.choice(owners), "agent_type": draw.choice(types), "has_bot": draw.random() < 0.5}


def vary(draw: Random, now: datetime, kinds: list[dict[str, Any]], plan: Plan) -> Project:
    """Makes one of these kinds of rows, possibly with one other column changed."""
    values = dict(draw.choice(kinds))
    if draw.random() < 0.7:
        name = draw.choice((*OFTEN, *OFTEN, *OFTEN, *OFTEN, *SELDOM, *VALUES))
        at = now - timedelta(seconds=draw.choice(AGES))
        moment = at if name == "updated_at" or draw.random() < 0.5 else None
        values[name] = draw.choice(VALUES[name]) if name in VALUES else moment
    bot_id = draw.getrandbits(60) if values.pop("has_bot") else None
    return Project(plan=plan, name="x", bot_id=bot_id, **values)


def derived(now: datetime) -> Counter[tuple[str, str]]:
    return Counter((each.project.agent_type_id, each.status) for each in read_known_projects(Project.objects.all()))


@pytest.mark.rare(2)
@pytest.mark.parametrize("seed", [1])
def test_the_counts_equal_the_statuses_of_the_list(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, now = Random(seed), timezone.now()
    owners = [UserFactory.create(), UserFactory.create(is_active=False)]
    types, plan = list(AgentType.objects.all()), Plan.objects.get(slug="pro")
    monkeypatch.setattr(clock, "now", lambda: now)
    kinds = [make(draw, now, owners, types) for _ in range(KINDS_OF_ROWS)]
    Project.objects.bulk_create(vary(draw, now, kinds, plan) for _ in range(ROWS))
    for _ in range(STATES):
        for instance in (settings.BERTH_INSTANCE, "another"):
            beat, lease = (now - timedelta(seconds=draw.choice(AGES)) for _ in range(2))
            values: dict[str, Any] = {"heartbeat_at": draw.choice((beat, beat, None)), "lease_until": lease + LEASE}
            values["holds_repairs"] = draw.random() < 0.2
            Watch.objects.update_or_create(instance=instance, defaults=values)
        assert count_projects() == derived(now)
        now += timedelta(seconds=draw.choice((0.4, 2.0, 5.0, -3.0, 90.0)))


def test_an_agent_with_an_unknown_start_does_not_count_as_settled(alice: User) -> None:
    now = clock.now()
    plan, kind = Plan.objects.get(slug="pro"), AgentType.objects.get(slug="assistant")
    Project.objects.bulk_create(
        Project(
            owner=alice, agent_type=kind, plan=plan, name="x", observed_at=now, started_at=started_at,
            container_state="running", health="none",
        )
        for started_at in (None, now - timedelta(hours=1))
    )  # fmt: skip
    assert count_projects() == derived(now) == {("assistant", "starting"): 1, ("assistant", "running"): 1}


def test_the_counts_take_two_queries_and_few_rows(alice: User) -> None:
    now = clock.now()
    plan, kind = Plan.objects.get(slug="pro"), AgentType.objects.get(slug="assistant")
    long_ago = now - timedelta(hours=1)
    Watch.objects.create(instance=settings.BERTH_INSTANCE, heartbeat_at=now, lease_until=now + LEASE)
    Project.objects.bulk_create(
        Project(
            owner=alice, agent_type=kind, plan=plan, name="x", instance=settings.BERTH_INSTANCE, updated_at=long_ago,
            container_state="running", health="healthy", started_at=long_ago, bot_id=number,
        )
        for number in range(50)
    )  # fmt: skip
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert count_projects() == {("assistant", "running"): 50}
    assert len(queries) == 2
    with connection.cursor() as cursor:
        cursor.execute(queries[1]["sql"])
        assert len(cursor.fetchall()) == 1
