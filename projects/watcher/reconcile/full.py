"""One round over all containers: records what the engine has, and repairs what differs from what is wanted.

A round may run at any time, also beside commands and other rounds: it writes only to rows that no operation holds, and
acts only on projects that it has claimed.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts import clock
from containers.identity import forget_installation_id, group_by_key, is_ours
from containers.vocabulary import ContainerState, Observation
from projects.models.rows.watched import WatchedRow, compare_all, find_watched, find_well_unchecked
from projects.services.agent_users import learn_users
from projects.services.inventory.installation import Conflicts, find_conflicts, hold, observe_instance
from projects.services.inventory.quarantine import as_uuid
from projects.watcher.ends.ends import FindEnd
from projects.watcher.failures import Confinement, concerns_all, locked_rows
from projects.watcher.reconcile.inspection import AT_ONCE
from projects.watcher.reconcile.orphans import find_orphans, put_away
from projects.watcher.reconcile.round import Round
from projects.watcher.reconcile.second_looks import Correct
from projects.watcher.reconcile.some import HandOver, Options, reconcile_some
from projects.watcher.telling.crash_mail import open_cursor, queue_crash_mails

log = logging.getLogger(__name__)

ROWS_AT_ONCE = 500
"""Rows that are read whole at a time."""


def reconcile(  # noqa: PLR0913 - keywords, each of which a caller may leave out
    *,
    changed_keys: Collection[str] = (),
    repair: bool = True,
    barred: bool = False,
    include_volumes: bool = True,
    hand_over: HandOver | None = None,
    before_each: Callable[[], object] = lambda: None,
    find_end: FindEnd = lambda _: None,
    narrow: bool = False,
    correct: Correct = list,
    waiting: Collection[UUID] = (),
) -> Round:
    """Looks at every container of this instance once.

    `narrow`: reads only rows that may need something (`projects.models.rows.watched`), and passes over those that are
    well. What it does is the same, and costs nothing for projects that are down and are to be.

    Raises `EngineUnavailableError` and `DatabaseError`, which end the round, where the engine or the database answers
    nobody. What goes wrong at a single project is noted in its row, and later rounds skip it for a while.
    `barred`: no agent may run, so that those that do are stopped and none is started.
    `changed_keys` are those of containers that the engine's events were about, which are inspected one by one. With
    `hand_over` no repair is waited for: what comes of it, a later round sees. With `include_volumes` it also looks for
    volumes that a killed process has left without a container and without a row. `before_each` is called before each
    project is looked at, and before what belongs to none. `find_end` tells how runs ended whose container says so no
    longer. `correct` takes what the engine lists, and gives what is to be believed of it. `waiting` are the
    projects whose repair was handed over and has no place yet: a narrow round asks nothing more of those without a
    container, and while they are many, of agents without a health check it asks no more than the list.
    """
    result = Round(at=clock.now())
    cursor = open_cursor()  # before anything happens: a new cursor passes over all that is in the table
    listed = _list_containers(changed_keys, result, correct, narrow=narrow, is_wave=len(waiting) > AT_ONCE)
    hold(listed.conflicts)
    may_repair = repair and not listed.conflicts
    options = Options(repair=may_repair, barred=barred, find_end=find_end, hand_over=hand_over, before_each=before_each)
    rows = _find_rows_with_work(listed, changed_keys, waiting, result.at) if narrow and not barred else listed.rows
    confinement = Confinement(result.failed)
    confinement.count(len(listed.rows) - len(rows))
    for some in _in_order(rows.values()):
        reconcile_some(some, listed.groups, changed_keys, confinement, result, options)
    before_each()
    confinement.settle()
    _look_after_the_rest(listed, result, repair=may_repair, include_volumes=include_volumes)
    if repair:
        queue_crash_mails(cursor)
    return result


def look_at(
    keys: Collection[str],
    *,
    repair: bool = True,
    barred: bool = False,
    hand_over: HandOver | None = None,
    find_end: FindEnd = lambda _: None,
) -> Round:
    """Looks at once at the containers of these keys only, because something has just happened to them.

    The engine also tells of what a command does to a container. The command, which writes down itself what came of it,
    needs the processors meanwhile: containers of projects that an operation holds are left to the next round.

    Raises as `reconcile`. It says nothing of any other container, and of no container that belongs to no project.
    """
    result = Round(at=clock.now())
    confinement = Confinement(result.failed)
    options = Options(repair=repair, barred=barred, find_end=find_end, hand_over=hand_over, at_rest=True)
    reconcile_some(list(_ids_of(keys)), {}, keys, confinement, result, options)
    confinement.settle()
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """The containers that the engine lists, beside the rows that they belong to. `groups` has an entry for each row. Of
    those of the `known` keys a list is enough that says that they run.
    """

    rows: dict[UUID, WatchedRow]
    groups: dict[UUID, list[Observation]]
    without_row: dict[str, list[Observation]]
    conflicts: Conflicts
    known: Collection[str]


def _list_containers(
    changed_keys: Collection[str], result: Round, correct: Correct, *, narrow: bool, is_wave: bool
) -> _Listed:
    """Asks the engine for its list, then reads the rows, and notes in the round what was seen."""
    known = find_well_unchecked() if narrow and is_wave else set[str]()
    forget_installation_id()  # an operator may have adopted another one
    observed = correct(observe_instance(unless_busy=True, briefly=known.union(changed_keys)))
    keys = _ids_of(each.key for each in observed) | _ids_of(changed_keys) | locked_rows.ids()
    rows = find_watched(keys, now=clock.now()) if narrow else compare_all(keys, now=clock.now())
    conflicts = find_conflicts(observed, {str(pk): row.generation for pk, row in rows.items()})
    found = group_by_key(seen for seen in observed if is_ours(seen.labels))
    result.held = conflicts.describe()
    result.seen = sum(map(len, found.values()))
    result.running = {each.container_id: key for key, group in found.items() for each in group if _runs(each)}
    groups = {pk: found.pop(str(pk), []) for pk in rows}
    return _Listed(rows=rows, groups=groups, without_row=found, conflicts=conflicts, known=known)


def _find_rows_with_work(
    listed: _Listed, changed_keys: Iterable[str], waiting: Collection[UUID], now: datetime
) -> dict[UUID, WatchedRow]:
    """Leaves out the rows that are well, and those without a container whose repair has no place yet, unless an event
    was about them or they could not be written.
    """
    inspected = _ids_of(changed_keys) | locked_rows.ids()

    def is_left_alone(pk: UUID, row: WatchedRow) -> bool:
        group = listed.groups[pk]
        if not group:
            return _is_missing(row, now) and pk in waiting
        return len(group) == 1 and row.is_well(group[0], now=now, without_check=str(pk) in listed.known)

    return {pk: row for pk, row in listed.rows.items() if pk in inspected or not is_left_alone(pk, row)}


def _look_after_the_rest(listed: _Listed, result: Round, *, repair: bool, include_volumes: bool) -> None:
    """What the engine has beside the projects: users of agents, and containers and volumes that belong to none."""
    if include_volumes:
        with _continue_after_errors(result, "learn users", "The users of agents could not be learnt"):
            learn_users()
    if repair:
        with _continue_after_errors(
            result, "quarantine", "What belongs to no project could not be put into quarantine"
        ):
            orphans = find_orphans(listed.without_row, include_volumes=include_volumes, now=result.at)
            repaired, failed = put_away(orphans)
            result.repaired += repaired
            result.failed += failed


def _ids_of(keys: Iterable[str]) -> set[UUID]:
    return {found for key in keys if (found := as_uuid(key))}


def _is_missing(row: WatchedRow, now: datetime) -> bool:
    """Whether the row itself says that there is no container, as the list does."""
    return not (row.container_state or row.operation or row.has_future_moments(now))


def _in_order(rows: Iterable[WatchedRow]) -> Iterator[list[UUID]]:
    """The newest projects first, as everywhere."""
    ids = [row.id for row in sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)]
    for first in range(0, len(ids), ROWS_AT_ONCE):
        yield ids[first : first + ROWS_AT_ONCE]


def _runs(seen: Observation) -> bool:
    return seen.state is ContainerState.RUNNING and bool(seen.key)


@contextmanager
def _continue_after_errors(result: Round, doing: str, sentence: str) -> Iterator[None]:
    """Notes and logs an error of what is inside, unless the engine or the database answers nobody."""
    try:
        yield
    except Exception as error:
        if concerns_all(error):
            raise
        result.failed.append(f"{doing}: {type(error).__name__}")
        log.exception("%s; the next round tries again.", sentence)
