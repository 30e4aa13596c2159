"""The end of an account: nobody gets in any more, its projects are deleted as their owner would, and then the row goes.

Closing the account is one transaction. What follows is looked at by the watcher until it is done, so that neither a
killed process nor a silent engine leaves half of it.
"""

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q

from accounts import audit, clock
from accounts.models import OpenSession, OutgoingMail, UsageCounter, User
from accounts.services.still_signed_in import SignedInBy, lock_if_still_signed_in
from projects.errors import AccountKeptError, ProjectGoneError
from projects.models import Actor, Project
from projects.rules.status.lifecycle import Desired
from projects.services.commands.deletion import record_deletion

ITSELF = Actor(label="system", source="end of the account")

CLOSED = Q(closed_at__isnull=False, is_active=False, is_staff=False, is_superuser=False)
"""An account that is to go. One that somebody uses again, or that became one of the staff, does not."""


def delete_account(*, user: User, session: SignedInBy, actor: Actor) -> bool:
    """Returns whether the account is gone. Else it is closed, and the watcher removes its agents and then its row.

    The caller has checked the password, and the code. Raises `AccountKeptError`, and `InvalidTokenError` where
    `session` has been ended meanwhile, as by another deletion.
    """
    with transaction.atomic():
        locked = lock_if_still_signed_in(user, session)
        check_may_go(locked)
        User.objects.filter(pk=locked.pk).update(is_active=False, closed_at=clock.now())
    audit.record("account_closed", user=user.pk)
    return carry_on(user, actor)


def check_may_go(user: User) -> None:
    """Raises `AccountKeptError`."""
    if user.is_staff or user.is_superuser or LogEntry.objects.filter(user=user).exists():
        raise AccountKeptError(
            "What staff have done stays on record, so no account of theirs is deleted here. Ask an admin to make yours "
            "inactive."
        )
    if Project.objects.owned_by(user).exclude(suspended_at=None).exists():
        raise AccountKeptError("A project of yours is suspended, so your account cannot be deleted. Ask the staff.")


def finish_closed_accounts() -> None:
    """Goes on with the accounts that are closed and not gone yet."""
    for user in User.objects.filter(CLOSED).order_by("closed_at"):
        carry_on(user, ITSELF)


def carry_on(user: User, actor: Actor) -> bool:
    """Has each project of a closed account deleted, and the account where none is left. Returns whether it is gone."""
    for project in Project.objects.owned_by(user).exclude(desired=Desired.DELETED).select_related("owner"):
        try:
            record_deletion(project, actor)
        except ProjectGoneError:
            continue
    return _forget(user)


def _forget(user: User) -> bool:
    if Project.objects.owned_by(user).exists():
        return False
    try:
        with transaction.atomic():
            if User.objects.select_for_update().filter(pk=user.pk).first() is None:
                return True
            # What staff have done stays on record, and would go with the row.
            if not User.objects.filter(CLOSED, pk=user.pk).exists() or LogEntry.objects.filter(user=user).exists():
                return False
            tokens = OpenSession.objects.filter(user=user).values("token")
            Session.objects.filter(session_key__in=tokens).delete()
            OutgoingMail.objects.filter(user_id=user.pk).delete()
            UsageCounter.objects.filter(subject=user.pk.hex).delete()
            User.objects.filter(pk=user.pk).delete()
    except (IntegrityError, ProtectedError):  # a deploy that had begun before has made a project
        return False
    audit.record("account_deleted", user=user.pk)
    return True
