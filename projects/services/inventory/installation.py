"""Checks whether this database and the engine belong together, and carries out the operator's decision if not.

A restored older backup knows less than the engine: it lacks projects, or the last deploys of some. A backup from before
an upgrade may have another installation id than the containers. Meanwhile nothing is repaired, because every remedy
could destroy what the newer database knew.
"""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts import clock
from containers.engine.lists import NO_RUNS, Runs
from containers.get_engine import get_engine
from containers.identity import forget_installation_id, is_labelled, is_ours
from containers.vocabulary import INSTALLATION_LABEL, INSTANCE_LABEL, QUARANTINE_LABEL, Observation
from projects.errors import CannotAdoptError
from projects.models import Actor, Event, Installation, Project, Quarantined, Watch
from projects.models.installation import read_installation
from projects.services.agent_users import learn_users
from projects.services.inventory.quarantine import as_uuid, put_in_quarantine

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Containers that this database cannot explain, by project key.

    - `unknown`: containers with our id, of projects of which the database has no trace.
    - `newer`: containers with our id and a later generation than the row's; the value is that generation.
    - `foreign`: containers of our projects with the id of another installation, which is the value.
    """

    unknown: tuple[str, ...] = ()
    newer: Mapping[str, int] = field(default_factory=dict)
    foreign: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.unknown or self.newer or self.foreign)

    def describe(self) -> str:
        """Returns one sentence for operators; empty if there is no conflict."""
        parts = (
            (len(self.unknown), "of projects that this database does not know"),
            (len(self.newer), "from later deploys than this database knows"),
            (len(self.foreign), "of projects of this database that carry the id of another installation"),
        )
        found = " and ".join(f"{count} container{'s' * (count > 1)} {what}" for count, what in parts if count)
        if not found:
            return ""
        return (
            f"Nothing is repaired, because the engine has {found}. If this database is an older backup, stop "
            "Berth and restore the right one; to go on with this database, run `manage.py adopt` (with `--dry-run` it "
            "says which they are, and changes nothing)."
        )


def observe_instance(
    *, unless_busy: bool = False, briefly: Collection[str] = (), runs: Runs = NO_RUNS
) -> list[Observation]:
    """Returns all containers of this BERTH_INSTANCE, including those of other installations.

    With `unless_busy`, containers of projects with an operation in flight are only listed and not inspected: the engine
    would not answer about a container that it is just starting, and the answer would not count. The same goes for the
    keys in `briefly` and for containers of these `runs`: see `Engine.observe`.
    """
    busy = Project.objects.filter(instance=settings.BERTH_INSTANCE, operation_deadline__gt=clock.now())
    keys = {str(pk) for pk in busy.values_list("pk", flat=True)} if unless_busy else set()
    ours = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
    return get_engine().observe(ours, others=True, briefly=keys.union(briefly), runs=runs)


def find_conflicts(observed: Iterable[Observation], generations: Mapping[str, int]) -> Conflicts:
    """Returns the conflicts. `generations` are those of the rows by key, read after the engine was asked."""
    without_row, newer, foreign = [], {}, {}
    for seen in observed:
        known = generations.get(seen.key)
        if known is None:
            if is_labelled(seen.labels) and QUARANTINE_LABEL not in seen.labels:
                without_row.append(seen.key)
        elif not is_ours(seen.labels):
            foreign[seen.key] = seen.labels.get(INSTALLATION_LABEL, "")
        elif seen.generation > known:
            newer[seen.key] = seen.generation
    return Conflicts(unknown=_without_trace(without_row), newer=newer, foreign=foreign)


def hold(conflicts: Conflicts) -> None:
    """Records why nothing is repaired, or that all is well again: for staff, and for the statuses of ended agents."""
    because = conflicts.describe()
    watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE, holds_repairs=not because)
    watch.update(holds_repairs=bool(because))
    installation = read_installation()
    if installation.held_because == because:
        return
    since = clock.now() if because else None
    Installation.objects.filter(pk=installation.pk).update(held_because=because, held_since=since)
    if because:
        log.error("%s", because)
    else:
        log.info("The database and the engine agree again. Repairs continue.")


def look_for_conflicts() -> Conflicts:
    forget_installation_id()
    observed = observe_instance()
    rows = Project.objects.filter(instance=settings.BERTH_INSTANCE).values_list("pk", "generation")
    return find_conflicts(observed, {str(pk): generation for pk, generation in rows})


def adopt(*, actor: Actor) -> list[str]:
    """Resolves the conflicts in favour of this database. Returns sentences that say what was done.

    Takes over the installation id of the projects' containers and their later deploys, and puts agents without a
    project into quarantine. Raises `CannotAdoptError` and `EngineError`.
    """
    done: list[str] = []
    conflicts = look_for_conflicts()
    if conflicts.foreign:
        done.append(_take_on_id(conflicts))
        conflicts = look_for_conflicts()
    for key, generation in conflicts.newer.items():
        if _take_over(UUID(key), generation, actor):
            done.append(f"Took over deploy {generation} of project {key}.")
    learn_users()
    kept = [key for key in conflicts.unknown if put_in_quarantine(key, actor=actor)]
    done += [f"Put the agent of project {key} into quarantine." for key in kept]
    hold(look_for_conflicts())
    return done


def _take_on_id(conflicts: Conflicts) -> str:
    ids = sorted(set(conflicts.foreign.values()))
    if len(ids) > 1:
        raise CannotAdoptError(f"The containers carry {len(ids)} ids: {', '.join(ids)}. Remove the wrong ones.")
    made_here = [seen for seen in observe_instance() if is_labelled(seen.labels)]
    if made_here:
        raise CannotAdoptError(
            f"This installation has made {len(made_here)} containers under an id of its own. Stop and remove one side."
        )
    Installation.objects.filter(pk=read_installation().pk).update(identifier=ids[0])
    forget_installation_id()
    return f"Took on the id {ids[0]}, which {len(conflicts.foreign)} containers carry."


def _take_over(pk: UUID, generation: int, actor: Actor) -> bool:
    with transaction.atomic():
        rows = Project.objects.filter(pk=pk, generation__lt=generation, operation="")
        if not rows.update(generation=generation, updated_at=clock.now()):
            return False
        Project.objects.get(pk=pk).event(actor, "adopt", "done", detail=f"deploy {generation}").save()
    return True


def _without_trace(keys: Iterable[str]) -> tuple[str, ...]:
    """Returns the keys without an event or a quarantine entry. Deleted projects have left events."""
    wanted = {key for key in keys if as_uuid(key)}
    if not wanted:
        return ()
    known = {str(pk) for pk in Event.objects.filter(project_id__in=wanted).values_list("project_id", flat=True)}
    known |= set(Quarantined.objects.filter(key__in=wanted).values_list("key", flat=True))
    return tuple(sorted(wanted - known))
