"""Undoes creations that have failed, so that nothing of them blocks the next attempt."""

import logging
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.db.utils import Error as DatabaseError

from containers.errors import EngineError
from projects.errors import ProjectGoneError
from projects.models import IdempotencyRecord, Project
from projects.models.operation import Claim
from projects.services.commands.deletion import claim_deletion, finish_deletion, remove_container
from projects.services.deferred import defer
from projects.services.operations import command_deadline

log = logging.getLogger(__name__)


def undo_creation(project: Project, claim: Claim) -> None:
    """Removes everything of a creation that failed in an unforeseen way, now or when the database answers again."""
    try:
        undo(project, claim_undoing(project))
    except DatabaseError:
        undo_later(project, claim)


def undo_later(project: Project, claim: Claim) -> None:
    """Removes everything of a creation once the database answers, unless another process has taken over its claim."""
    defer(partial(_undo_if_held, project, claim))


def _undo_if_held(project: Project, claim: Claim) -> None:
    with command_deadline():
        undo(project, claim_undoing(project, only=Q(operation_id=claim.id)))


def claim_undoing(project: Project, *, only: Q | None = None) -> Claim | None:
    """Claims the deletion of a failed creation's remains. Returns None if staff have suspended the project since, or
    its row does not match `only`.

    Also frees the Idempotency-Key, so that a retry creates another project even if this process is killed.
    """
    try:
        with transaction.atomic():
            claim = claim_deletion(project, unless_suspended=True, only=only)
            if claim is not None:
                IdempotencyRecord.objects.filter(project_id=project.pk, answer="").delete()
            return claim
    except ProjectGoneError:
        return None


def undo(project: Project, claim: Claim | None) -> None:
    """Removes the remains of a failed creation. If the engine does not answer, the watcher removes them later."""
    if claim is None:
        return
    try:
        finish_deletion(project, claim, remove_container(project))
    except ProjectGoneError:
        return
    except EngineError:
        log.warning("The remains of project %s are left to the watcher.", project.pk)
