"""Looks at some containers at once, because there were events about them."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from uuid import UUID

from accounts import clock
from projects.models.rows.watched import without_operations
from projects.services.inventory.quarantine import as_uuid
from projects.watcher.ends.prompt_recording import record_ends
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.failures import Confinement
from projects.watcher.reconcile.batch import HandOver, Options, reconcile_some
from projects.watcher.reconcile.expected_events import is_recorded
from projects.watcher.reconcile.round import Round


def look_at(
    keys: Collection[str],
    ends: RunEnds,
    *,
    expected: Mapping[str, str] = MappingProxyType({}),
    repair: bool = True,
    barred: bool = False,
    hand_over: HandOver | None = None,
) -> Round:
    """Checks only the containers with these keys. Records first which of them have ended.

    Commands cause most events, but record their outcome themselves and need the processors meanwhile. So projects that
    an operation holds are left to the next round, and so are containers without a project. `expected` has the keys with
    events of commands and their containers' ids: those whose rows already show the start or end are left to the next
    round too. Raises like `reconcile`.
    """
    result = Round(at=clock.now())
    at_rest = {
        pk
        for pk, run in without_operations(ids_of(keys)).items()
        if not is_recorded(run, expected.get(str(pk), ""), ends.find(run.container_id))
    }
    if not at_rest:
        return result
    record_ends({str(each) for each in at_rest} & ends.keys_of_ended(), ends.find)
    confinement = Confinement(result.failed)
    options = Options(repair=repair, barred=barred, find_end=ends.find, hand_over=hand_over, at_rest=True)
    reconcile_some(at_rest, {}, keys, confinement, result, options)
    confinement.settle()
    return result


def ids_of(keys: Iterable[str]) -> set[UUID]:
    return {found for key in keys if (found := as_uuid(key))}
