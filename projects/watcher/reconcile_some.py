"""Some projects in a round: each is brought up to date and repaired, and what goes wrong at one stays with it."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from django.conf import settings

from containers.vocabulary import Observation
from projects.models import Project
from projects.watcher.ends import FindEnd
from projects.watcher.failures import Confinement, locked_rows, note_success
from projects.watcher.hearsay import heard_state, is_ending
from projects.watcher.inspection import Answer, inspecting
from projects.watcher.protection import is_exposed
from projects.watcher.reconcile_project import (
    Repair,
    has_to_be_inspected,
    reconcile_project,
    repair_within_round,
)
from projects.watcher.round import Round

CRASHES_WITHIN = 0.5
"""Seconds of a round for telling how agents ended. Of the others it is told at once that they have, so that the
heartbeat vouches for all; the next look tells how. What somebody waits to be told meanwhile waits as long."""

HandOver = Callable[[Project, Repair], None]
"""Does something with a project in another thread, soon or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a round goes. `before_each` is called before each project."""

    repair: bool
    barred: bool
    find_end: FindEnd
    hand_over: HandOver | None
    before_each: Callable[[], object] = lambda: None


def reconcile_some(
    ids: Collection[UUID],
    groups: Mapping[UUID, Sequence[Observation]],
    changed_keys: Collection[str],
    confinement: Confinement,
    result: Round,
    options: Options,
) -> None:
    """`groups` are the containers that a list has shown, and `changed_keys` those of which it may be too old."""
    chosen = Project.objects.filter(pk__in=ids, instance=settings.BERTH_INSTANCE)
    projects = chosen.select_related("owner", "plan", "agent_type")
    unskipped = _without_skipped(projects, result)
    for project, group, answer in _with_answers(unskipped, groups, changed_keys, result, options.find_end):
        options.before_each()
        with confinement.of(project):
            _reconcile(project, group, answer, result, options)
        result.unwritten += project.pk in locked_rows


def _without_skipped(projects: Iterable[Project], result: Round) -> Iterator[Project]:
    for project in projects:
        if project.is_skipped(result.at) or locked_rows.is_skipped(project.pk):
            result.skipped += 1
            result.unwritten += project.pk in locked_rows
        else:
            yield project


def _with_answers(
    projects: Iterable[Project],
    groups: Mapping[UUID, Sequence[Observation]],
    changed_keys: Collection[str],
    result: Round,
    find_end: FindEnd,
) -> Iterator[tuple[Project, Sequence[Observation], Answer | None]]:
    """First those of which the list says enough, then the others, as the engine answers for them."""
    until = time.monotonic() + CRASHES_WITHIN
    asked: dict[str, Project] = {}
    for project in projects:
        group = groups.get(project.pk, ())
        if has_to_be_inspected(project, group, find_end, is_changed=project.container_key in changed_keys):
            asked[project.container_key] = project
        else:
            yield project, group, _told_by_list(project, group, result, find_end) if time.monotonic() >= until else None

    def put_off(key: str) -> Answer | None:
        heard = heard_state(asked[key], groups.get(asked[key].pk, ()), find_end)
        if heard is None:
            return None
        result.put_off.add(key)
        return lambda: heard

    # Those of which the engine's events tell nothing come first: only the engine can tell of them.
    in_order = sorted(asked, key=lambda key: heard_state(asked[key], (), find_end) is not None)
    with inspecting(in_order, until=until, instead=put_off) as answers:
        for key, answer in answers:
            is_late = time.monotonic() >= until
            told = partial(_without_crash, asked[key], answer, result) if is_late else answer
            yield asked[key], groups.get(asked[key].pk, ()), told


def _told_by_list(project: Project, group: Sequence[Observation], result: Round, find_end: FindEnd) -> Answer | None:
    """What the list says, but for a crash. None where it does not say all of one container, or events say more."""
    if len(group) != 1 or not group[0].is_complete or group[0].is_silent or is_ending(project, group, find_end):
        return None
    return partial(_without_crash, project, lambda: group[0], result)


def _without_crash(project: Project, answer: Answer, result: Round) -> Observation | None:
    """What the engine says, but for a crash since then that another look has to tell of, which costs some calls."""
    seen = answer()
    if seen is None or not seen.is_up or (seen.restart_count or 0) <= project.restarts:
        return seen
    result.put_off.add(project.container_key)
    return replace(seen, restart_count=None, is_hearsay=True)


def _reconcile(
    project: Project, group: Sequence[Observation], answer: Answer | None, result: Round, options: Options
) -> None:
    decision = reconcile_project(
        project,
        group,
        answer,
        result,
        repair=options.repair,
        barred=options.barred or is_exposed(project),
        find_end=options.find_end,
    )
    if decision is None:
        return
    if options.hand_over is not None:
        options.hand_over(project, Repair(project, decision))
    elif repair_within_round(project, decision.remedy, result):
        note_success(project)
