"""Some projects in a round: updates and repairs each, and confines an error to its project."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from containers.vocabulary import Observation
from projects.models import Project
from projects.rules.status.lifecycle import Operation
from projects.watcher.ends.run_ends import FindEnd
from projects.watcher.failures import Confinement, locked_rows, note_success
from projects.watcher.protection import is_exposed
from projects.watcher.reconcile.inspection import Answer
from projects.watcher.reconcile.inspection_choice import leave_alone, with_answers
from projects.watcher.reconcile.project import Repair, reconcile_project, repair_within_round
from projects.watcher.reconcile.round import Round

HandOver = Callable[[Project, Repair], None]
"""Runs a repair in another thread, soon or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a round. `before_each` is called before each project. `at_rest`: leave projects that an operation
    holds to a later round, even if it is abandoned."""

    repair: bool
    barred: bool
    find_end: FindEnd
    hand_over: HandOver | None
    before_each: Callable[[], object] = lambda: None
    at_rest: bool = False


def reconcile_some(
    ids: Collection[UUID],
    groups: Mapping[UUID, Sequence[Observation]],
    changed_keys: Collection[str],
    confinement: Confinement,
    result: Round,
    options: Options,
) -> None:
    """Reconciles these projects. `groups` are the listed containers; the list may be too old for `changed_keys`."""
    chosen = Project.objects.filter(pk__in=ids, instance=settings.BERTH_INSTANCE)
    chosen = chosen.filter(operation=Operation.NONE) if options.at_rest else chosen
    projects = chosen.select_related("owner", "plan", "agent_type")
    unskipped = _without_skipped(projects, result)
    for project, group, answer in with_answers(unskipped, groups, changed_keys, result, options.find_end):
        options.before_each()
        with confinement.of(project):
            _reconcile(project, group, answer, result, options)
        result.unwritten += project.pk in locked_rows
        if project.operation:
            result.in_operation.add(project.container_key)


def _without_skipped(projects: Iterable[Project], result: Round) -> Iterator[Project]:
    for project in projects:
        if project.is_skipped(result.at) or locked_rows.is_skipped(project.pk):
            result.skipped += 1
            result.unwritten += project.pk in locked_rows
        else:
            yield project


def _reconcile(
    project: Project, group: Sequence[Observation], answer: Answer | None, result: Round, options: Options
) -> None:
    if answer is leave_alone:
        return
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
