"""Which projects of a look the engine is asked about, and what is believed of the others: of those that have ended the
engine's events tell enough for a while, and a look has but so much time for how they ended."""

import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from accounts import clock
from containers.vocabulary import ContainerState, Observation
from projects.models import Project
from projects.watcher.ends.ends import LATE, FindEnd
from projects.watcher.ends.hearsay import CALLED_UP, heard_state, is_ending
from projects.watcher.failures import locked_rows
from projects.watcher.reconcile.inspection import Answer, inspecting
from projects.watcher.reconcile.project import has_to_be_inspected
from projects.watcher.reconcile.round import Round

CRASHES_WITHIN = 0.5
"""Seconds of a round for telling how agents ended. Of the others it is told at once that they have, so that the
heartbeat vouches for all; the next look tells how. What somebody waits to be told meanwhile waits as long."""

DESCRIBED_AT_LEAST = 8
"""Answers of the engine that a look takes in full however late it is. Without that, a busy machine would put many
crashes off from look to look for minutes."""

ASKED_AT_MOST = 16
"""Containers that a look inspects of which events tell enough meanwhile. An inspection costs both the engine and us
more than a line of a list, which matters most while the engine is busy."""


def with_answers(
    projects: Iterable[Project],
    groups: Mapping[UUID, Sequence[Observation]],
    changed_keys: Collection[str],
    result: Round,
    find_end: FindEnd,
) -> Iterator[tuple[Project, Sequence[Observation], Answer | None]]:
    """First those of which the list says enough, then the others: some as the engine answers for them, and where there
    are many, the rest as the events tell."""
    until = time.monotonic() + CRASHES_WITHIN
    asked: dict[str, Project] = {}
    for project in projects:
        group = groups.get(project.pk, ())
        if has_to_be_inspected(project, group, find_end, is_changed=project.container_key in changed_keys):
            asked[project.container_key] = project
        else:
            yield project, group, _told_by_list(project, group, result, find_end) if time.monotonic() >= until else None

    for key, answer in _ask(asked, groups, result, find_end, until=max(until, time.monotonic() + CRASHES_WITHIN / 2)):
        yield asked[key], groups.get(asked[key].pk, ()), answer


def _ask(
    asked: Mapping[str, Project],
    groups: Mapping[UUID, Sequence[Observation]],
    result: Round,
    find_end: FindEnd,
    *,
    until: float,
) -> Iterator[tuple[str, Answer | None]]:
    """First those of which enough is known without the engine, where they are too many to ask about."""
    known = {key: _known_without(each, groups.get(each.pk, ()), find_end) for key, each in asked.items()}

    def put_off(key: str) -> Answer | None:
        heard = known[key]
        if heard is None:
            return None
        is_described = _has_described(asked[key], find_end)
        (result.passed_over if is_described else result.put_off).add(key)
        return leave_alone if is_described and _tells_end(asked[key], heard) else partial(known.__getitem__, key)

    inspected = _choose(asked, known, find_end)
    for key in asked.keys() - set(inspected):
        yield key, put_off(key)
    left = DESCRIBED_AT_LEAST
    with inspecting(inspected, until=until, instead=put_off) as answers:
        for key, answer in answers:
            left -= time.monotonic() >= until
            is_late = left < 0
            yield key, (put_off(key) or partial(_without_crash, asked[key], answer, result)) if is_late else answer


def _choose(asked: Mapping[str, Project], known: Mapping[str, Observation | None], find_end: FindEnd) -> list[str]:
    """The keys of those that are inspected. Those of which only the engine can tell come first, and all of them; then
    those whose end the row does not tell yet. Chance gives each its turn, also beside some that never answer."""
    others = [key for key in asked if known[key] is not None]
    secrets.SystemRandom().shuffle(others)
    others.sort(key=lambda key: _has_described(asked[key], find_end))
    return [key for key in asked if known[key] is None] + others[:ASKED_AT_MOST]


def _has_described(project: Project, find_end: FindEnd) -> bool:
    """Whether the row tells how that run has ended. An engine writes down an earlier moment than that of its event."""
    end = find_end(project.container_id)
    if end is None:
        return True
    since = min(end.began_at or end.at - LATE, end.at)
    return project.ended_at is not None and project.ended_at >= since


def _tells_end(project: Project, heard: Observation) -> bool:
    """Whether events tell nothing more than the row, whose words for an end are the engine's own. What is being done
    about it goes by them. A row with which something is wrong is looked at all the same."""
    if heard.state is not ContainerState.RESTARTING or project.container_state in CALLED_UP:
        return False
    is_troubled = project.operation or project.reconcile_failures or project.pk in locked_rows
    return not is_troubled and not project.has_future_moments(clock.now())


def leave_alone() -> Observation | None:
    """Stands in the place of an answer for a row that is right, and is called by nobody."""
    raise AssertionError("This row is not to be written.")


def _known_without(project: Project, group: Sequence[Observation], find_end: FindEnd) -> Observation | None:
    """What the events say of it, or the list of one that has run again for a while. None where only an inspection
    tells."""
    heard = heard_state(project, group, find_end)
    if heard is not None or len(group) != 1 or not group[0].is_complete or group[0].is_silent:
        return heard
    end = find_end(group[0].container_id)
    if end is None or end.is_present or (group[0].is_brief and project.has_reported_since(group[0])):
        return None
    return replace(group[0], restart_count=None, is_hearsay=True)


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
