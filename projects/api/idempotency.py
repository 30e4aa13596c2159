"""Answers a retry with the same Idempotency-Key like the first request, without creating anything new."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.utils import Error as DatabaseError
from django.utils.crypto import salted_hmac

from accounts import clock
from accounts.models import User
from accounts.moments import not_recent
from projects.errors import CreatedAndGoneError, IdempotencyMismatchError, OperationInProgressError
from projects.models import Project
from projects.models.idempotency import GONE, KEPT_FOR, PENDING_FOR, IdempotencyRecord
from projects.rules.status.lifecycle import Desired
from projects.services.deferred import defer


class Answer(NamedTuple):
    """A response. `is_replay`: it is the stored response to an earlier request."""

    body: dict[str, Any]
    is_replay: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """What this request must do: send `answer`, or create the project if that is None.

    `project_id` is the id for the project. An earlier request that died before it answered may have created it.
    `began_at` is when the record was last written.
    """

    record_id: int
    project_id: UUID
    began_at: datetime
    answer: dict[str, Any] | None = None


def answer_once(*, owner: User, key: str, body: Any, make: Callable[[UUID], dict[str, Any]]) -> Answer:
    """Returns the response of `make`, which takes the id for the project, or the response to an earlier request.

    Raises `IdempotencyMismatchError` for a key that came with another body, `OperationInProgressError` while the first
    request is under way, and `CreatedAndGoneError` once its project is deleted. If `make` raises an error and leaves no
    project, nothing is stored, and a retry calls it again.
    """
    decision = _decide(owner=owner, key=key, body=body)
    if decision.answer is not None:
        return Answer(decision.answer, is_replay=True)
    try:
        answer = make(decision.project_id)
    except BaseException:
        try:
            _free_key(decision.project_id, decision.began_at)
        except DatabaseError:
            defer(partial(_free_key, decision.project_id, decision.began_at))
        raise
    record = IdempotencyRecord.objects.filter(pk=decision.record_id)
    if not record.filter(answer="").update(answer=json.dumps(_without_link(answer))):
        # Another request with this key has answered after the project was created.
        stored = record.exclude(answer=GONE).values_list("answer", flat=True).first()
        return Answer(json.loads(stored), is_replay=True) if stored else Answer(answer, is_replay=False)
    return Answer(answer, is_replay=False)


def _free_key(project_id: UUID, began_at: datetime) -> None:
    """Forgets a request that has failed, unless another one with its key has taken over since.

    If it created its project before it was interrupted, a retry must not create another.
    """
    if not Project.objects.live().filter(pk=project_id).exists():
        IdempotencyRecord.objects.filter(project_id=project_id, created_at=began_at, answer__in=("", GONE)).delete()


def _without_link(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the response without the pairing link, which is never stored."""
    bot = answer.get("bot")
    return answer | {"bot": bot | {"url": bot["url"].partition("?")[0]}} if bot else answer


def _decide(*, owner: User, key: str, body: Any) -> _Decision:
    """Records the key for this request, or finds the state of an earlier request with it."""
    digest = _digest(owner, body)
    now = clock.now()
    mine = IdempotencyRecord.objects.filter(owner=owner, key=key)
    mine.filter(created_at__lte=now - KEPT_FOR).delete()
    project_id = uuid4()
    try:
        with transaction.atomic():
            record = IdempotencyRecord.objects.create(
                owner=owner, key=key, digest=digest, project_id=project_id, created_at=now
            )
        return _Decision(record_id=record.pk, project_id=project_id, began_at=now)
    except IntegrityError:
        earlier = mine.first()
    except DatabaseError:
        defer(partial(_free_key, project_id, now))  # the commit may have been carried out all the same
        raise
    if earlier is None:
        return _decide(owner=owner, key=key, body=body)
    if earlier.digest != digest:
        raise IdempotencyMismatchError("This Idempotency-Key was used with another body. Use a new key.")
    if earlier.answer == GONE:
        raise CreatedAndGoneError
    if earlier.answer:
        answer = json.loads(earlier.answer)
        return _Decision(
            record_id=earlier.pk, project_id=earlier.project_id, began_at=earlier.created_at, answer=answer
        )
    return _follow(earlier)


def _follow(record: IdempotencyRecord) -> _Decision:
    """Continues a first request without a response. Its project shows how far it has come.

    Raises `OperationInProgressError` while the project is being created, may still be created, or is being removed
    because its creation failed, which has freed the key.
    """
    project = Project.objects.filter(pk=record.project_id).first()
    if project is None:
        return _take_over(record)
    if project.desired == Desired.DELETED:
        raise CreatedAndGoneError if IdempotencyRecord.objects.filter(pk=record.pk).exists() else _under_way()
    if project.operation_in_flight(clock.now()):
        raise _under_way()
    return _Decision(record_id=record.pk, project_id=record.project_id, began_at=record.created_at)


def _take_over(record: IdempotencyRecord) -> _Decision:
    """Continues a first request that created nothing and is too old to answer now."""
    now = clock.now()
    abandoned = not_recent("created_at", within=PENDING_FOR, now=now)
    if IdempotencyRecord.objects.filter(abandoned, pk=record.pk, answer="").update(created_at=now):
        return _Decision(record_id=record.pk, project_id=record.project_id, began_at=now)
    raise _under_way()


def _under_way() -> OperationInProgressError:
    return OperationInProgressError(
        "The first request with this Idempotency-Key is still under way. Try again in a few seconds.", retry_after=2
    )


def _digest(owner: User, body: Any) -> str:
    """Returns a keyed digest of the body, which has credentials."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return salted_hmac(f"projects.idempotency:{owner.pk}", text, algorithm="sha256").hexdigest()
