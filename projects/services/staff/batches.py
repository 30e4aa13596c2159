"""Carries out staff's batches: each item is claimed, carried out, and ended with a sentence.

Each claim is one conditional UPDATE, so that no item is carried out twice, no matter how many pages of the batch are
open. If the process of an item died, the item is not repeated automatically, because it may have been carried out.
"""

import logging
import time
from collections.abc import Callable, Iterable
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Count, F, Q

from accounts import clock
from accounts.models import User
from accounts.moments import not_recent, recent
from containers.errors import EngineError
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import NoPlaceError, ProjectError
from projects.models import Actor, Batch, BatchItem, Project
from projects.models.batch import LOST_AFTER, NOT_DONE, OPEN, ItemState
from projects.services.bulkheads import COMMANDS
from projects.services.staff.actions import carry_out

log = logging.getLogger(__name__)

MOST = 500
"""The maximum number of projects in one batch."""

MOST_SHOWN = 20
"""The maximum number of unfinished batches on the first page of the admin."""

AT_ONCE = 2
"""The maximum number of items of one batch under way at a time."""

LOST = "Berth was interrupted here and cannot say whether it was done. Look at the project."
BROKEN = "Something went wrong in Berth. Its log says more."
GONE = "It is gone."

Item = tuple[UUID, str]


def begin_batch(*, by: User, action: str, chosen: Iterable[Item], because: str = "") -> Batch:
    """Creates a batch for these projects, each an id and a name. Does not begin any item yet."""
    with transaction.atomic():
        batch = Batch.objects.create(by=by, action=action, because=because)
        BatchItem.objects.bulk_create(
            BatchItem(batch=batch, number=number, project_id=project_id, name=name)
            for number, (project_id, name) in enumerate(chosen, start=1)
        )
    return batch


def continue_batch(batch: Batch, actor: Actor, *, begin_within: float, is_let_in: Callable[[], bool]) -> bool:
    """Carries out waiting items one after the other. Returns whether it began any.

    After `begin_within` seconds it begins only the first, and none once another member of staff has taken over the
    batch. An item that is refused does not stop the others; if the actor has no place for a command, the item waits.
    """
    until, has_begun = time.monotonic() + begin_within, False
    while not has_begun or (time.monotonic() < until and is_let_in()):
        item = _claim_next(batch) if COMMANDS.has_left(actor.label) else None
        if item is None:
            break
        try:
            state, sentence = act_on(item.project_id, batch.action, actor, because=batch.because)
        except NoPlaceError:
            _put_back(item)
            break
        has_begun = True
        _end(item, state, sentence)
    return has_begun


def find_unfinished() -> list[Batch]:
    """Returns the newest batches with open items that are not stopped, with counts of `all` items and those `left`."""
    counted = Batch.objects.annotate(all=Count("items"), left=Count("items", filter=Q(items__state__in=OPEN)))
    return list(counted.filter(is_stopped=False, left__gt=0).select_related("by").order_by("-created_at")[:MOST_SHOWN])


def take_over(batch: Batch, *, by: User) -> None:
    """Hands the batch to another member of staff, whom the events of the remaining items then name."""
    Batch.objects.filter(pk=batch.pk).update(by=by, is_stopped=False)


def stop(batch: Batch) -> None:
    """Stops the batch. Items under way finish."""
    Batch.objects.filter(pk=batch.pk).update(is_stopped=True)


def resume(batch: Batch) -> None:
    """Resumes the batch unless another member of staff has taken it over since it was read."""
    _resume_own(batch)


def try_again(batch: Batch) -> None:
    """Resumes the batch like `resume`, and lets refused and lost items wait again."""
    with transaction.atomic():
        if _resume_own(batch):
            again = {"state": ItemState.WAITING, "sentence": "", "begun_at": None, "ended_as": None}
            batch.items.filter(state__in=NOT_DONE).update(**again)


def _resume_own(batch: Batch) -> bool:
    return Batch.objects.filter(pk=batch.pk, by=batch.by_id).update(is_stopped=False) > 0


def end_what_was_lost(batch: Batch) -> None:
    """Ends items that began so long ago that their process must have died."""
    is_lost = not_recent("begun_at", within=LOST_AFTER, now=clock.now())
    for item in batch.items.filter(is_lost, state=ItemState.BEGUN):
        _end(item, ItemState.LOST, LOST)


def _claim_next(batch: Batch) -> BatchItem | None:
    """Claims the next waiting item. Returns None if there is none, the batch was stopped or taken over, or too many are
    under way.
    """
    now = clock.now()
    with transaction.atomic():
        own = Batch.objects.select_for_update().filter(pk=batch.pk, by=batch.by_id, is_stopped=False)
        if own.first() is None:
            return None
        begun = recent("begun_at", within=LOST_AFTER, now=now)
        if BatchItem.objects.filter(begun, batch=batch, state=ItemState.BEGUN).count() >= AT_ONCE:
            return None
        item = BatchItem.objects.filter(batch=batch, state=ItemState.WAITING).first()
        if item is None or not BatchItem.objects.filter(pk=item.pk, state=ItemState.WAITING).update(
            state=ItemState.BEGUN, begun_at=now
        ):
            return None
    item.begun_at = now
    return item


def act_on(project_id: UUID, action: str, actor: Actor, *, because: str = "") -> tuple[ItemState, str]:
    """Carries out an action on one project. Returns the state of the item and a sentence.

    Does nothing and raises `NoPlaceError` if too many commands are under way.
    """
    try:
        rows = Project.objects.with_heartbeat().select_related("owner", "plan", "agent_type")
        project = rows.filter(pk=project_id).first()
        if project is None:
            return ItemState.NOTED, GONE
        report = carry_out(action, project, actor, because=because)
    except NoPlaceError:
        raise
    except (ProjectError, EngineError, SecretUnreadableError) as error:
        return ItemState.REFUSED, str(error)
    except DatabaseError:
        raise
    except Exception:
        log.exception("The action “%s” of the admin failed at project %s.", action, project_id)
        return ItemState.REFUSED, BROKEN
    return (ItemState.NOTED if report.is_remark else ItemState.DONE), report.sentence


def _put_back(item: BatchItem) -> None:
    BatchItem.objects.filter(pk=item.pk, begun_at=item.begun_at, state=ItemState.BEGUN).update(
        state=ItemState.WAITING, begun_at=None
    )


def _end(item: BatchItem, state: ItemState, sentence: str) -> None:
    """Ends an item. Leaves it unchanged if it was begun again since, or if it has ended and only seems lost."""
    with transaction.atomic():
        Batch.objects.filter(pk=item.batch_id).update(ends=F("ends") + 1)
        ends = Batch.objects.filter(pk=item.batch_id).values("ends")
        rows = BatchItem.objects.filter(pk=item.pk, begun_at=item.begun_at)
        if state == ItemState.LOST:
            rows = rows.filter(state=ItemState.BEGUN)
        rows.update(state=state, sentence=sentence, ended_as=ends[:1])
