"""One round over all containers: records what the engine has, and repairs differences from the desired state.

A round may run at any time, also alongside commands and other rounds: it writes only to rows that no operation holds,
and acts only on projects that it has claimed.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts import clock
from containers.engine.lists import NO_RUNS, Runs
from containers.identity import forget_installation_id, group_by_key, is_ours
from containers.vocabulary import ContainerState, Observation
from projects.models.rows.watched import WatchedRow, compare_all, find_unchecked_runs, find_watched
from projects.services.agent_users import learn_users
from projects.services.inventory.installation import Conflicts, find_conflicts, hold, observe_instance
from projects.watcher.ends.run_ends import FindEnd
from projects.watcher.failures import Confinement, concerns_all, locked_rows
from projects.watcher.notifications.crash_mail import open_cursor, queue_crash_mails
from projects.watcher.reconcile.batch import HandOver, Options, reconcile_some
from projects.watcher.reconcile.changed import ids_of
from projects.watcher.reconcile.orphans import find_orphans, put_away
from projects.watcher.reconcile.round import Round
from projects.watcher.reconcile.spot_checks import Correct

log = logging.getLogger(__name__)

ROWS_AT_ONCE = 500
"""How many complete rows are read at a time."""


def reconcile(  # noqa: PLR0913 - optional keywords
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
    """Checks every container of this instance once.

    Raises `EngineUnavailableError` and `DatabaseError`, which end the round, if the engine or the database does not
    answer at all. Records any other error in the row of its project, which later rounds skip for a while.

    - `changed_keys`: containers with events, which are inspected one by one.
    - `barred`: no agent may run, so running agents are stopped and none is started.
    - `include_volumes`: also look for volumes without a container and a row, which a killed process may leave.
    - `hand_over`: runs repairs elsewhere, so that the round does not wait for them; a later round sees the results.
    - `before_each`: called before each project, and before the work that concerns no project.
    - `find_end`: returns how a run ended if its container no longer says so.
    - `narrow`: read only rows that may need something (`projects.models.rows.watched`) and skip those that are well.
      The effect is the same, without any cost for projects that are down as they should be.
    - `correct`: corrects the engine's list.
    - `waiting`: projects whose repair was handed over and waits for a place. A narrow round inspects none of these that
      have no container.
    """
    result = Round(at=clock.now())
    cursor = open_cursor()  # first, because a new cursor skips everything that is in the table
    listed = _list_containers(changed_keys, result, correct, narrow=narrow)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """The containers that the engine lists, and their rows. `groups` has an entry for each row.

    Of these `runs` it is enough if the list says that they go on.
    """

    rows: dict[UUID, WatchedRow]
    groups: dict[UUID, list[Observation]]
    without_row: dict[str, list[Observation]]
    conflicts: Conflicts
    runs: Runs


def _list_containers(changed_keys: Collection[str], result: Round, correct: Correct, *, narrow: bool) -> _Listed:
    """Asks the engine for its list, then reads the rows, and records in the round what was seen."""
    runs = find_unchecked_runs(now=clock.now()) if narrow else NO_RUNS
    forget_installation_id()  # an operator may have adopted another one
    observed = correct(observe_instance(unless_busy=True, briefly=changed_keys, runs=runs))
    keys = ids_of(each.key for each in observed) | ids_of(changed_keys) | locked_rows.ids()
    rows = find_watched(keys, now=clock.now()) if narrow else compare_all(keys, now=clock.now())
    conflicts = find_conflicts(observed, {str(pk): row.generation for pk, row in rows.items()})
    found = group_by_key(seen for seen in observed if is_ours(seen.labels))
    result.held = conflicts.describe()
    result.seen = sum(map(len, found.values()))
    result.running = {each.container_id: key for key, group in found.items() for each in group if _runs(each)}
    groups = {pk: found.pop(str(pk), []) for pk in rows}
    return _Listed(rows=rows, groups=groups, without_row=found, conflicts=conflicts, runs=runs)


def _find_rows_with_work(
    listed: _Listed, changed_keys: Iterable[str], waiting: Collection[UUID], now: datetime
) -> dict[UUID, WatchedRow]:
    """Returns the rows without those that are well or wait for a repair without a container.

    Keeps rows that had an event or could not be written.
    """
    inspected = ids_of(changed_keys) | locked_rows.ids()

    def is_left_alone(pk: UUID, row: WatchedRow) -> bool:
        group = listed.groups[pk]
        if not group:
            return _is_missing(row, now) and pk in waiting
        return len(group) == 1 and row.is_well(group[0], now=now, is_known_run=str(pk) in listed.runs)

    return {pk: row for pk, row in listed.rows.items() if pk in inspected or not is_left_alone(pk, row)}


def _look_after_the_rest(listed: _Listed, result: Round, *, repair: bool, include_volumes: bool) -> None:
    """Checks what the engine has besides projects: user ids of agents, and containers and volumes without a project."""
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


def _is_missing(row: WatchedRow, now: datetime) -> bool:
    """Returns whether the row itself also says that there is no container."""
    return not (row.container_state or row.operation or row.has_future_moments(now))


def _in_order(rows: Iterable[WatchedRow]) -> Iterator[list[UUID]]:
    """Yields the ids in parts, newest projects first."""
    ids = [row.id for row in sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)]
    for first in range(0, len(ids), ROWS_AT_ONCE):
        yield ids[first : first + ROWS_AT_ONCE]


def _runs(seen: Observation) -> bool:
    return seen.state is ContainerState.RUNNING and bool(seen.key)


@contextmanager
def _continue_after_errors(result: Round, doing: str, sentence: str) -> Iterator[None]:
    """Records and logs an error from the block. Raises it if the engine or the database does not answer at all."""
    try:
        yield
    except Exception as error:
        if concerns_all(error):
            raise
        result.failed.append(f"{doing}: {type(error).__name__}")
        log.exception("%s; the next round tries again.", sentence)
