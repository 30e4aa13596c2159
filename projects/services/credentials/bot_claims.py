"""Decides which project owns a Telegram bot: the one whose token Telegram has confirmed.

A token that could not be checked because Telegram did not answer is only a claim, and does not keep others from the
bot. It is checked as soon as Telegram answers, and ends if Telegram refuses it or another project has the bot.
"""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Case, F, QuerySet, When
from django.views.decorators.debug import sensitive_variables

from accounts import clock, moments
from projects.credentials.verification import CredentialCheck, verify_credentials
from projects.errors import InvalidFieldError
from projects.models import Project
from projects.models.columns.credentials import TELEGRAM_TOKEN
from projects.models.event import SYSTEM
from projects.rules.bot import BOT_DENIED, CLAIMED
from projects.rules.status.lifecycle import Desired

VERIFY = "verify bot"
"""The action of events about claims."""


def find_unconfirmed() -> QuerySet[Project]:
    """Returns the claims of this instance to check with Telegram, the longest unchecked first."""
    never = Case(When(moments.future("bot_unconfirmed_at", now=clock.now()), then=0), default=1)
    return _unconfirmed().filter(instance=settings.BERTH_INSTANCE).order_by(never, "bot_unconfirmed_at")


def _unconfirmed() -> QuerySet[Project]:
    """Returns the claims of all instances that share the database, because a bot belongs to only one of them."""
    rows = Project.objects.exclude(desired=Desired.DELETED).exclude(bot_unconfirmed_at=None)
    return rows.exclude(failure_code__in=BOT_DENIED).exclude(telegram_token_ciphertext="")


@sensitive_variables("token")
def confirm_claim(project: Project) -> None:
    """Asks Telegram about the project's token, and settles its claim if Telegram answers.

    Raises `SecretUnreadableError`.
    """
    rows = find_unconfirmed().filter(pk=project.pk, telegram_token_ciphertext=project.telegram_token_ciphertext)
    rows.update(bot_unconfirmed_at=clock.now())  # moves it to the end of the queue
    token = project.decrypt_credential(TELEGRAM_TOKEN)
    try:
        check = verify_credentials(telegram_token=token, api_key="")
    except InvalidFieldError:
        with transaction.atomic():
            _end_claims(rows, "telegram_token")
        return
    if check.token_confirmed:
        _settle(project, rows, check)


def _settle(project: Project, rows: QuerySet[Project], check: CredentialCheck) -> None:
    """Gives the project the bot, or ends its claim if another project already has it."""
    try:
        with transaction.atomic():
            if not rows.update(bot_unconfirmed_at=None, bot_username=check.bot_username):
                return  # the token was changed meanwhile
            evict_unconfirmed(bot_id=check.bot_id, keep=project.pk)
            project.event(SYSTEM, VERIFY, "done").save()
    except IntegrityError:
        with transaction.atomic():
            _end_claims(rows, CLAIMED)


def evict_unconfirmed(*, bot_id: int | None, keep: UUID) -> None:
    """Ends every other claim to the bot that Telegram has not confirmed. Call it in a transaction."""
    _end_claims(_unconfirmed().filter(bot_id=bot_id).exclude(pk=keep), CLAIMED)


def _end_claims(rows: QuerySet[Project], code: str) -> None:
    """Marks the projects as failed; the watcher's next round stops their containers.

    The new generation invalidates starts that have read the row before.
    """
    now = clock.now()
    values: dict[str, Any] = {"failure_code": code, "failed_at": now, "updated_at": now}
    for project in rows.select_for_update():
        if rows.filter(pk=project.pk).update(**values, generation=F("generation") + 1):
            project.event(SYSTEM, VERIFY, "failed", detail=code).save()
