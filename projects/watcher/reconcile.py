"""One round over all containers: records what the engine has, and repairs what differs from what is wanted.

A round may run at any time, also beside commands and other rounds: it writes only to rows that no operation holds, and
acts only on projects that it has claimed.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial

from django.conf import settings

from accounts import clock
from containers.identity import forget_installation_id, group_by_key, is_ours
from containers.vocabulary import ContainerState, Observation
from projects.models import Project
from projects.services.agent_users import learn_users
from projects.services.installation import find_conflicts, hold, observe_instance
from projects.watcher.crash_mail import open_cursor, queue_crash_mails
from projects.watcher.ends import FindEnd
from projects.watcher.failures import Confinement, concerns_all, locked_rows, note_success
from projects.watcher.orphans import find_orphans, put_away
from projects.watcher.reconcile_project import reconcile_project, repair_later, repair_within_round
from projects.watcher.round import Round

log = logging.getLogger(__name__)

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
            remedy = reconcile_project(
                project,
                group,
                result,
                inspect=project.container_key in changed_keys,
                repair=mend,
                barred=barred,
                find_end=find_end,
            )
            if remedy is not None and hand_over is not None:
                hand_over(project, partial(repair_later, project, remedy))
            elif remedy is not None and repair_within_round(project, remedy, result):
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
