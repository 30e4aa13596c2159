"""Deletes an account: ends its access, deletes its projects as their owner would, and then deletes its row.

Closing the account is one transaction. The watcher continues the rest until it is done, so that neither a killed
process nor a silent engine leaves half of it.
"""

from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q

from accounts import audit, clock
from accounts.models import OpenSession, OutgoingMail, UsageCounter, User
from accounts.services.staff_record import has_acted_as_staff
from accounts.services.still_signed_in import SignedInBy, lock_if_still_signed_in
from projects.errors import AccountKeptError, ProjectGoneError
from projects.models import Actor, Project
from projects.rules.status.lifecycle import Desired
from projects.services.commands.deletion import record_deletion

ITSELF = Actor(label="system", source="end of the account")

CLOSED = Q(closed_at__isnull=False, is_active=False, is_staff=False, is_superuser=False)
"""An account that must be deleted. An account that is active again, or became one of the staff, is kept."""


def delete_account(*, user: User, session: SignedInBy, actor: Actor) -> bool:
    """Returns whether the account is gone. If not, it is closed, and the watcher removes its agents and then its row.

    The caller has checked the password and the one-time code. Raises `AccountKeptError`, and `InvalidTokenError` if
    `session` has ended meanwhile, for example by another deletion.
    """
    with transaction.atomic():
        locked = lock_if_still_signed_in(user, session)
        check_may_go(locked)
        User.objects.filter(pk=locked.pk).update(is_active=False, closed_at=clock.now())
    audit.record("account_closed", user=user.pk)
    return carry_on(user, actor)


def check_may_go(user: User) -> None:
    """Raises `AccountKeptError` if the account may not be deleted."""
    if user.is_staff or user.is_superuser or has_acted_as_staff(user):
        raise AccountKeptError(
            "What staff have done stays on record, so no account of theirs is deleted here. Ask an admin to make yours "
            "inactive."
        )
    if Project.objects.owned_by(user).exclude(suspended_at=None).exists():
        raise AccountKeptError("A project of yours is suspended, so your account cannot be deleted. Ask the staff.")


def finish_closed_accounts() -> None:
    """Continues the deletion of closed accounts."""
    for user in User.objects.filter(CLOSED).order_by("closed_at"):
        carry_on(user, ITSELF)


def carry_on(user: User, actor: Actor) -> bool:
    """Deletes the projects of a closed account, and the account if none is left. Returns whether it is gone."""
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
            if not User.objects.filter(CLOSED, pk=user.pk).exists() or has_acted_as_staff(user):
                return False
            tokens = OpenSession.objects.filter(user=user).values("token")
            Session.objects.filter(session_key__in=tokens).delete()
            OutgoingMail.objects.filter(user_id=user.pk).delete()
            UsageCounter.objects.filter(subject=user.pk.hex).delete()
            User.objects.filter(pk=user.pk).delete()
    except (IntegrityError, ProtectedError):  # a deploy that began earlier has created a project
        return False
    audit.record("account_deleted", user=user.pk)
    return True
