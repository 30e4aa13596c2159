"""A narrow round has the same effect as a full one: rows that it skips need nothing."""

import copy
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import clock
from accounts.models import User
from containers.vocabulary import GENERATION_LABEL, PROJECT_LABEL, AgentReport, ContainerSpec, Health
from projects.models import Event, Project
from projects.models.rows import watched as watched_row
from projects.models.rows.watched import find_unchecked_runs, find_watched
from projects.services.commands import start_and_stop
from projects.services.container_spec import build_spec
from projects.watcher.reconcile import full as rounds
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.project import has_to_be_inspected, reconcile_project
from projects.watcher.reconcile.round import Round
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.row_states import CONTAINERS, LONG, NO_CONTAINER, add_rows, make_container, row_states

pytestmark = pytest.mark.django_db


@pytest.fixture
def template(deploy: Callable[..., Project]) -> Project:
    found = deploy()
    Project.objects.update(updated_at=timezone.now() - LONG, observed_at=timezone.now() - LONG)
    return Project.objects.select_related("owner", "plan", "agent_type").get(pk=found.pk)


@pytest.mark.rare(1)
def test_rows_skipped_by_a_narrow_round_need_nothing(template: Project, engine: MemoryEngine) -> None:
    """Every state of a row with every state of a container. All other cells are processed in every round."""
    now = clock.now()
    projects = add_rows(template, list(row_states(now)))
    looked_at = find_watched([], now=now)
    rows = find_watched([project.pk for project in projects], now=now)
    alone = [project for project in projects if project.pk not in looked_at]
    seen = {kind: make_container(engine, template, template, kind).tell(believed=True) for kind in CONTAINERS}
    well = [
        (project, kind) for project in projects for kind in CONTAINERS if rows[project.pk].is_well(seen[kind], now=now)
    ]
    assert {kind for _, kind in well} == {"healthy", "degraded since the last check"}  # to a list they are the same
    assert (len(alone), len(well)) == (40, 2)
    engine.calls.clear()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        for project, kind in [*((project, NO_CONTAINER) for project in alone), *well]:
            group = [] if kind == NO_CONTAINER else [seen[kind]]
            result = Round(at=now)
            assert not has_to_be_inspected(project, group, lambda _: None, is_changed=False), (kind, project.__dict__)
            decision = reconcile_project(
                project, group, None, result, repair=True, barred=False, find_end=lambda _: None
            )
            assert (decision, result.changed) == (None, 0), (kind, project.__dict__)
    assert (len(queries), engine.calls) == (0, [])


def test_runs_without_a_health_check_that_a_narrow_round_believes_need_nothing(
    template: Project, engine: MemoryEngine
) -> None:
    """Every state of a row with a container that has no health check, in which nothing has happened."""
    now = clock.now()
    projects = {project.container_key: project for project in add_rows(template, list(row_states(now)))}
    rows = find_watched([project.pk for project in projects.values()], now=now)
    container = make_container(engine, template, template, "no health check")
    believed = [
        projects[key]
        for key in find_unchecked_runs(now=now)
        if rows[projects[key].pk].is_well(container.briefly, now=now, is_known_run=True)
    ]
    assert [(each.agent_state, each.health) for each in believed] == [("running", Health.NONE), ("", Health.NONE)]
    for project in believed:
        container.report = AgentReport(state="running") if project.agent_state else None
        container.started_at = project.started_at
        result, group = Round(at=now), [container.observation]
        decision = reconcile_project(project, group, None, result, repair=True, barred=False, find_end=lambda _: None)
        assert (decision, result.changed) == (None, 0), project.__dict__


FLEET = 24
STEPS = 8
ACTS = {"deploy", "stop", "remove", "realign", "quarantine"}


@pytest.fixture
def fleet(template: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[Project]:
    """Copies of one project, each of which may have a container."""
    pattern = build_spec(template)

    def spec_of(project: Project) -> ContainerSpec:
        labels = {**pattern.labels, PROJECT_LABEL: project.container_key}
        return replace(pattern, name=project.container_name, labels=labels, generation=project.generation)

    monkeypatch.setattr(start_and_stop, "build_spec", spec_of)
    return add_rows(template, [{} for _ in range(FLEET)])


def change(engine: MemoryEngine, template: Project, project: Project, dice: random.Random) -> str:
    """Another process writes the row, or something happens to the container. Returns the key if there is an event."""
    rows = Project.objects.filter(pk=project.pk)
    if dice.random() < 0.5:
        rows.update(**dice.choice(list(row_states(clock.now()))) | {"generation": 1})
    if dice.random() < 0.5:
        return ""
    kind = dice.choice([NO_CONTAINER, *CONTAINERS])
    engine.containers.pop(project.container_name, None)
    if kind != NO_CONTAINER:
        container = make_container(engine, template, project, kind)
        container.labels[GENERATION_LABEL] = "1"
        engine.containers[container.name] = container
    return dice.choice(["", project.container_key])


def look(engine: MemoryEngine, keys: set[str], *, narrow: bool) -> dict[str, Any]:
    """Makes a round, and returns the rows and the history after it, without values that are new each time."""
    engine.calls.clear()
    before = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    result = reconcile(changed_keys=keys, narrow=narrow, include_volumes=False)
    columns = [field.attname for field in Project._meta.concrete_fields]
    moments, new_each_time = {"observed_at", "updated_at", "operation_id", "uid"}, {"crashes_since", "container_id"}
    rows = {}
    for row in Project.objects.values(*columns):
        rows[row["id"]] = {
            name: bool(value) if name.endswith("_at") or name in new_each_time else value
            for name, value in row.items()
            if name not in moments
        }
    events = Counter(Event.objects.filter(pk__gt=before).values_list("project_id", "action", "outcome"))
    acts = Counter(call for call in engine.calls if call[0] in ACTS)
    told = Counter([*result.repaired, *result.failed, result.held, f"{result.changed} changed"])
    return {"rows": rows, "events": events, "acts": acts, "told": told}


@pytest.mark.rare(1)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_a_narrow_round_has_the_same_effect_as_a_full_one(
    template: Project, fleet: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """From the same state, and then from the result of the full round. Another server writes in between."""
    monkeypatch.setattr(rounds, "compare_all", lambda keys, now: watched_row._read([watched_row._rows()]))
    dice = random.Random(seed)
    acted = 0
    began = timezone.now()
    for step in range(STEPS):
        now = began + step * LONG  # it stands still in both rounds, no matter how long they take
        monkeypatch.setattr(clock, "now", lambda now=now: now)
        keys = {change(engine, template, project, dice) for project in dice.sample(fleet, 12)} - {""}
        User.objects.filter(pk=template.owner_id).update(is_active=dice.random() < 0.9)
        kept = copy.deepcopy(engine.containers), set(engine.volumes), dict(engine.volume_labels)
        with transaction.atomic():
            narrow = look(engine, keys, narrow=True)
            transaction.set_rollback(True)
        engine.containers, engine.volumes, engine.volume_labels = kept
        full = look(engine, keys, narrow=False)
        for name, found in full.items():
            differing = [(narrow[name][key], found[key]) for key in found if narrow[name].get(key) != found[key]]
            assert not differing, (name, differing)
            assert len(narrow[name]) == len(found), name
        acted += full["acts"].total()
    assert acted > STEPS
