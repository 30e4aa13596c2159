"""One round over all containers: records what the engine has, and repairs what differs from what is wanted.

A round may run at any time, also beside commands and other rounds: it writes only to rows that no operation holds, and
acts only on projects that it has claimed.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from django.conf import settings

from accounts import clock
from containers.errors import ContainerSilentError, EngineUnavailableError, FirewallMissingError
from containers.get_engine import get_engine
from containers.identity import forget_installation_id, group_by_key, is_ours
from containers.vocabulary import ContainerState, Observation
from projects.errors import OperationLostError, ProjectGoneError
from projects.models import Project
from projects.rules.lifecycle import Desired
from projects.rules.remedies import Remedy, choose_remedy
from projects.services.agent_users import learn_users
from projects.services.installation import find_conflicts, hold, observe_instance
from projects.services.operations import command_deadline, repair_within
from projects.watcher.crash_mail import open_cursor, queue_crash_mails
from projects.watcher.ends import FindEnd, with_late_news
from projects.watcher.failures import (
    FORESEEN,
    Confinement,
    concerns_all,
    locked_rows,
    note_failure,
    note_success,
)
from projects.watcher.observation import differs, record_observation
from projects.watcher.orphans import find_orphans, put_away
from projects.watcher.protection import note_protection
from projects.watcher.repair import carry_out

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Round:
    """What a round saw and did. Every change on the engine up to `at` is in the rows, but for those of the projects in
    `unwritten`, whose rows are locked.

    `held` says in a sentence why nothing was mended; empty where all is well. `running` are the keys of the agents that
    run, by the ids of their containers.
    """

    at: datetime
    seen: int = 0
    changed: int = 0
    skipped: int = 0
    unwritten: int = 0
    held: str = ""
    running: dict[str, str] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


INSPECT_WITHIN = 3.0
"""Seconds that a round waits for what the engine says of one container."""

SILENT = "The engine does not say how this container is, though it answers for others."

HandOver = Callable[[Project, Callable[[], object]], None]
"""Does something with a project in another thread, now or never."""


def reconcile(
    *,
    changed_keys: Collection[str] = (),
    repair: bool = True,
    barred: bool = False,
    include_volumes: bool = True,
    hand_over: HandOver | None = None,
    before_each: Callable[[], object] = lambda: None,
    find_end: FindEnd = lambda _: None,
) -> Round:
    """Looks at every container of this instance once.

    Raises `EngineUnavailableError` and `DatabaseError`, which end the round, where the engine or the database answers
    nobody. Whatever goes wrong at a single project is noted in its row, and later rounds skip it for a while.
    `barred`: no agent may run, so that those that do are stopped and none is started.
    `changed_keys` are those of containers that the engine's events were about, which are inspected one by one. With
    `hand_over` no repair is waited for: what comes of it, a later round sees. With `include_volumes` it also looks for
    volumes that a killed process has left without a container and without a row. `before_each` is called before each
    project is looked at, and before what belongs to none. `find_end` tells how runs ended whose container says so no
    longer.
    """
    result = Round(at=clock.now())
    cursor = open_cursor()  # before anything happens: a new cursor passes over all that is in the table
    forget_installation_id()  # an operator may have adopted another one
    observed = observe_instance(unless_busy=True)
    rows = Project.objects.filter(instance=settings.BERTH_INSTANCE).select_related("owner", "plan", "agent_type")
    conflicts = find_conflicts(observed, {project.container_key: project.generation for project in rows})
    hold(conflicts)
    result.held = conflicts.describe()
    mend = repair and not conflicts
    found = group_by_key(seen for seen in observed if is_ours(seen.labels))
    result.seen = sum(map(len, found.values()))
    result.running = {each.container_id: each.key for each in observed if _runs(each)}
    confinement = Confinement(result.failed)
    for project in rows:
        before_each()
        group = found.pop(project.container_key, [])
        if project.is_skipped(result.at) or locked_rows.is_skipped(project.pk):
            result.skipped += 1
            result.unwritten += project.pk in locked_rows
            continue
        with confinement.of(project):
            remedy = _reconcile_project(
                project,
                group,
                result,
                inspect=project.container_key in changed_keys,
                repair=mend,
                barred=barred,
                find_end=find_end,
            )
            if remedy is not None and hand_over is not None:
                hand_over(project, partial(_repair_later, project, remedy))
            elif remedy is not None and _repair(project, remedy, result):
                note_success(project)
        result.unwritten += project.pk in locked_rows
    before_each()
    confinement.settle()
    if include_volumes:
        with _going_on(result, "learn users", "The users of agents could not be learnt"):
            learn_users()
    if mend:
        with _going_on(result, "quarantine", "What belongs to no project could not be put into quarantine"):
            repaired, failed = put_away(find_orphans(found, include_volumes=include_volumes, now=result.at))
            result.repaired += repaired
            result.failed += failed
    if repair:
        queue_crash_mails(cursor)
    return result


def _runs(seen: Observation) -> bool:
    return seen.state is ContainerState.RUNNING and is_ours(seen.labels) and bool(seen.key)


@contextmanager
def _going_on(result: Round, doing: str, sentence: str) -> Iterator[None]:
    """Notes and logs an error of what is inside, unless the engine or the database answers nobody."""
    try:
        yield
    except Exception as error:
        if concerns_all(error):
            raise
        result.failed.append(f"{doing}: {type(error).__name__}")
        log.exception("%s; the next round tries again.", sentence)


def _reconcile_project(
    project: Project,
    group: Sequence[Observation],
    result: Round,
    *,
    inspect: bool,
    repair: bool,
    barred: bool,
    find_end: FindEnd,
) -> Remedy | None:
    """Brings the row up to date with the containers of the project. Returns what is to be done."""
    # If an interrupted operation has removed the container, that did not vanish by itself.
    if project.operation and not project.release_expired(recreated_at=None):
        return None
    seen = _see(project, group, inspect=inspect, find_end=find_end)
    if differs(project, seen):
        if not record_observation(project, seen, at=result.at, find_end=find_end):
            return None  # an operation has begun since, and what was seen says nothing of what it does
        result.changed += 1
    if not repair:
        note_success(project)
        return None
    remedy = choose_remedy(
        project.facts(),
        crash_count=project.crash_count,
        recreated_at=project.recreated_at,
        outdated=seen is not None and (seen.generation < project.generation or _count_up(group) > 1),
        drifted=seen is not None and seen.has_drifted,
        barred=barred,
    )
    note_protection(project, barred=barred)
    if remedy is None:
        note_success(project)
    return remedy


def _see(project: Project, group: Sequence[Observation], *, inspect: bool, find_end: FindEnd) -> Observation | None:
    """The container that tells the state. Raises `ContainerSilentError` where the engine does not say how it is."""
    if any(each.is_silent for each in group):
        raise ContainerSilentError(SILENT)
    seen = next(iter(group), None)
    is_missing = seen is None and (project.container_state or project.desired == Desired.RUNNING)
    is_doubtful = seen is not None and (not seen.is_complete or (seen.is_brief and project.has_reported_since(seen)))
    if inspect or is_missing or is_doubtful:
        # A list that lacks a container is no proof of its absence.
        with get_engine().deadline(INSPECT_WITHIN):
            seen = get_engine().inspect(project.container_key)
    if seen is not None:
        seen = with_late_news(seen, find_end)
    return seen


def _count_up(group: Sequence[Observation]) -> int:
    """Several containers of one agent poll one bot, and knock each other out."""
    return sum(each.is_up for each in group)


def _repair_later(project: Project, remedy: Remedy) -> None:
    """A repair outside of any round. What went wrong is noted in the row, as it is within a round."""
    result = Round(at=clock.now())
    try:
        if _repair(project, remedy, result):
            note_success(project)
    except ProjectGoneError:
        return
    except Exception as error:  # noqa: BLE001 - the boundary of the thread
        if concerns_all(error):
            log.warning("Could not %s %s: %s", remedy.value, project.container_name, error)
        else:
            note_failure(project, error, result.failed, doing=remedy.value)


def _repair(project: Project, remedy: Remedy, result: Round) -> bool:
    """Returns whether it went well. Of what the engine refused, the outcome is in the row already."""
    name = f"{remedy.value}: {project.container_name}"
    try:
        with command_deadline(repair_within(project.agent_type)):
            is_repaired = carry_out(remedy, project)
    except FirewallMissingError as error:
        result.failed.append(f"{name}: {error}")
        return True  # none of the project's fault; the watcher logs why
    except EngineUnavailableError:
        raise
    except (OperationLostError, ProjectGoneError):
        return True  # the owner has decided something else since
    except FORESEEN as error:
        note_failure(project, error, result.failed, doing=remedy.value)
        return False
    if is_repaired:
        result.repaired.append(name)
        log.info("Reconciled %s.", name)
    return True
