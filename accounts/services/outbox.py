"""The outbox: a mail becomes a row, and a thread of the watcher sends rows that are due.

A try is a conditional UPDATE that moves the row to its next try, then the mail server, then an UPDATE that ends it. A
process that dies in between loses no mail. A mail is sent twice only if the process dies, or the database fails, after
the server has accepted it and before the row says so, or if the server accepts it and never says so. The second copy
has the same Message-ID, by which mailboxes recognise it.
"""

import logging
import re
import smtplib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import DatabaseError
from django.db.models import F, QuerySet

from accounts import clock
from accounts.errors import OutboxFullError
from accounts.models import MailState, OutgoingMail, User
from accounts.models.outgoing_mail import LONGEST_PAUSE, give_up_time, pause_after
from accounts.moments import over

logger = logging.getLogger(__name__)

MOST_WAITING = 10_000
"""How many mails may wait. Mails that strangers can cause get half of it."""

BATCH = 100
"""How many mails one pass tries at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """The mail to send. Without `to` it goes to the user's address at the time of sending."""

    subject: str
    text: str
    to: str = ""


BROKEN = "Broken: "
"""Prefix of the error of a mail that could not be written."""

Renderer = Callable[[OutgoingMail, User], Letter | None]
"""Writes the mail of a row. Returns None if it is no longer needed."""


class _ServerError(Exception):
    """The mail server does not work, for this mail or for all."""


def queue_mail(*, kind: str, user_id: UUID, facts: Mapping[str, str] | None = None, by_stranger: bool = False) -> None:
    """Queues a mail. `facts` must contain no secret and no link that signs anyone in. Raises `OutboxFullError`."""
    most = MOST_WAITING // 2 if by_stranger else MOST_WAITING
    if OutgoingMail.objects.filter(state=MailState.WAITING)[:most].count() >= most:
        raise OutboxFullError
    now = clock.now()
    OutgoingMail.objects.create(kind=kind, user_id=user_id, facts=dict(facts or {}), created_at=now, next_try_at=now)


def send_due(
    *, renderers: Mapping[str, Renderer], is_stopped: Callable[[], bool] = lambda: False, kinds: Collection[str] = ()
) -> bool:
    """Tries the mails that are due, one after another. Returns False if the mail server does not work.

    It stops at the first mail with which the server fails. That mail is no longer due, so the next pass begins with
    another one, and no mail can block the rest. With `kinds` it tries only mails of these kinds.
    """
    due = find_due(clock.now())
    for mail in (due.filter(kind__in=kinds) if kinds else due).order_by("next_try_at")[:BATCH]:
        if is_stopped():
            break
        if _claim(mail) and not _try(mail, renderers):
            return False
    return True


def find_due(now: datetime) -> QuerySet[OutgoingMail]:
    """A moment further ahead than any pause comes from a clock that was set back since, and is ignored."""
    is_due = over("next_try_at", at_most=LONGEST_PAUSE, now=now)
    return OutgoingMail.objects.filter(is_due, state=MailState.WAITING)


def try_again(chosen: QuerySet[OutgoingMail]) -> int:
    """Makes these mails due now, for three more days, unless they were sent. Returns their number."""
    unsent = chosen.filter(state__in=[MailState.WAITING, MailState.REFUSED, MailState.GIVEN_UP])
    return unsent.update(
        state=MailState.WAITING, next_try_at=clock.now(), give_up_at=give_up_time(), attempts=0, ended_at=None
    )


def _claim(mail: OutgoingMail) -> bool:
    """Claims the mail for one try. Returns False if another process has claimed it."""
    mine = OutgoingMail.objects.filter(
        pk=mail.pk, state=MailState.WAITING, attempts=mail.attempts, next_try_at=mail.next_try_at
    )
    again_at = clock.now() + pause_after(mail.attempts + 1)
    return bool(mine.update(attempts=F("attempts") + 1, next_try_at=again_at))


def _try(mail: OutgoingMail, renderers: Mapping[str, Renderer]) -> bool:
    """Returns False if the mail server does not work. Any other error concerns this mail only."""
    try:
        state = _send(mail, renderers)
    except DatabaseError:
        raise
    except _ServerError as error:
        _note_failure(mail, str(error))
        return False
    except (OSError, ValueError) as error:
        _note_failure(mail, _describe(error), for_good=_is_refusal(error))
    except Exception as error:
        logger.exception("The mail %s (%s) broke.", mail.pk, mail.kind)
        _note_failure(mail, f"{BROKEN}{type(error).__name__}"[:100])
    else:
        _end(mail, state)
    return True


def _send(mail: OutgoingMail, renderers: Mapping[str, Renderer]) -> MailState:
    user = User.objects.filter(pk=mail.user_id).first()
    letter = renderers[mail.kind](mail, user) if user is not None else None
    if user is None or letter is None:
        return MailState.NOT_NEEDED
    host = urlsplit(settings.BERTH_PUBLIC_URL).hostname or "localhost"
    message = EmailMessage(
        letter.subject, letter.text, None, [letter.to or user.email], headers={"Message-ID": f"<{mail.pk}@{host}>"}
    )
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        code, words = next(iter(error.recipients.values()))
        raise smtplib.SMTPDataError(code, words) from None
    except smtplib.SMTPDataError:
        raise
    except OSError as error:
        raise _ServerError(_describe(error)) from None
    return MailState.SENT


def _note_failure(mail: OutgoingMail, what: str, *, for_good: bool = False) -> None:
    logger.warning("The mail %s (%s) could not be sent: %s", mail.pk, mail.kind, what)
    if for_good:
        _end(mail, MailState.REFUSED, error=what)
    elif clock.now() >= mail.give_up_at:
        _end(mail, MailState.GIVEN_UP, error=what)
    else:
        _waiting(mail).update(last_error=what)


def _end(mail: OutgoingMail, state: MailState, *, error: str = "") -> None:
    _waiting(mail).update(state=state, ended_at=clock.now(), last_error=error)


def _waiting(mail: OutgoingMail) -> QuerySet[OutgoingMail]:
    return OutgoingMail.objects.filter(pk=mail.pk, state=MailState.WAITING)


def _is_refusal(error: Exception) -> bool:
    """Returns whether the server will never accept this mail, or there is nothing to send."""
    if isinstance(error, smtplib.SMTPResponseException):
        return 500 <= error.smtp_code < 600
    return isinstance(error, ValueError)


def _describe(error: Exception) -> str:
    """Returns the error's class and the server's codes, never its words, which may repeat the mail."""
    if not isinstance(error, smtplib.SMTPResponseException):
        return type(error).__name__
    words = error.smtp_error if isinstance(error.smtp_error, bytes) else str(error.smtp_error).encode()
    detail = re.match(rb"[245]\.\d{1,3}\.\d{1,3}(?!\d)", words)
    numbers = f"{error.smtp_code} {detail[0].decode()}" if detail else f"{error.smtp_code}"
    return f"{type(error).__name__} {numbers}"[:100]
