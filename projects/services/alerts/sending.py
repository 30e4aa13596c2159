"""Sends one message by webhook, bot or mail, and returns the result.

Webhooks are signed as standardwebhooks.com specifies, for which most languages have libraries.
"""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.services.outbox import queue_mail
from containers.public_http import AddressRefusedError, NoAnswerError, post
from projects.credentials.encryption import SecretUnreadableError
from projects.models import AlertChannel, AlertDelivery, DeliveryState
from projects.models.alert import ADDRESS, SECRET
from projects.rules.alerts import AlertKind, Way, pause_after
from projects.services.alerts.channels import SECRET_PREFIX
from projects.services.alerts.chat import ask_bot
from projects.services.alerts.queueing import forget_old
from projects.services.bulkheads import COMMANDS

MAIL = "alert"
"""The kind of mail in the outbox."""

WITHIN = 10.0
"""Seconds within which a webhook's whole response head must arrive."""

TEST = "test"

_FINAL = {400, 401, 403, 404}
"""Telegram's statuses for messages that will never arrive: the token or the chat is wrong, or the bot is blocked."""


class Sent(NamedTuple):
    """The result of an attempt. `state` is WAITING if another attempt makes sense. `answer` is for the user."""

    state: DeliveryState
    answer: str


def send_test(channel: AlertChannel, *, within: float) -> AlertDelivery:
    """Sends a test message once, and records the result in the log. Raises `NoPlaceError`.

    The row counts as ended from the beginning, so that it does not stay forever if this process dies.
    """
    now = clock.now()
    facts = {"project": "", "sentence": "This is a test. Alerts about your agents will come here", "code": TEST}
    with COMMANDS.take(channel.user.email):
        delivery = AlertDelivery.objects.create(
            channel=channel,
            kind=TEST,
            facts={**facts, "at": now.isoformat()},
            state=DeliveryState.GIVEN_UP,
            attempts=1,
            created_at=now,
            ended_at=now,
        )
        rows = AlertDelivery.objects.filter(channel=channel)
        forget_old(rows)
        sent = send(delivery, within=within)
    if sent.state != DeliveryState.WAITING:
        delivery.state = sent.state
    delivery.last_answer = sent.answer
    rows.filter(pk=delivery.pk).update(state=delivery.state, last_answer=delivery.last_answer)
    return delivery


def deliver(delivery: AlertDelivery) -> Sent:
    """Sends a message whose attempt was claimed, and records the result."""
    sent = send(delivery, within=WITHIN)
    record(delivery, sent)
    return sent


def record(delivery: AlertDelivery, sent: Sent) -> None:
    """Records the result of an attempt. The last attempt always ends the message."""
    state = sent.state
    if state == DeliveryState.WAITING and pause_after(delivery.attempts) is None:
        state = DeliveryState.GIVEN_UP
    ended = {} if state == DeliveryState.WAITING else {"ended_at": clock.now()}
    mine = AlertDelivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING, attempts=delivery.attempts)
    mine.update(state=state, last_answer=sent.answer, **ended)


def send(delivery: AlertDelivery, *, within: float) -> Sent:
    """Sends the message. Errors on the receiver's side become results and are never raised."""
    try:
        match delivery.channel.way:
            case Way.WEBHOOK:
                return _send_to_webhook(delivery, within)
            case Way.TELEGRAM:
                return _send_by_bot(delivery)
            case _:
                return _send_by_mail(delivery)
    except AddressRefusedError as error:
        return Sent(DeliveryState.REFUSED, str(error)[:200])
    except NoAnswerError as error:
        return Sent(DeliveryState.WAITING, str(error)[:200])
    except SecretUnreadableError:
        return Sent(DeliveryState.REFUSED, "The stored credential cannot be read. Set it again.")


@sensitive_variables("secret", "headers")
def _send_to_webhook(delivery: AlertDelivery, within: float) -> Sent:
    body = json.dumps(describe(delivery)).encode()
    moment = str(int(clock.now().timestamp()))
    secret = delivery.channel.decrypt(SECRET)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Berth",
        "webhook-id": str(delivery.pk),
        "webhook-timestamp": moment,
        "webhook-signature": sign(secret, f"{delivery.pk}.{moment}.".encode() + body),
    }
    asker = str(delivery.channel.user_id)
    status = post(delivery.channel.decrypt(ADDRESS), body, headers, within=within, asker=asker)
    if 200 <= status < 300:
        return Sent(DeliveryState.DELIVERED, f"Answered {status}")
    if 300 <= status < 400:
        return Sent(
            DeliveryState.WAITING, f"Answered {status}: redirects are not followed. Set the address to which it leads."
        )
    return Sent(DeliveryState.WAITING, f"Answered {status}")


@sensitive_variables("secret")
def sign(secret: str, content: bytes) -> str:
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    return "v1," + b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def describe(delivery: AlertDelivery) -> dict[str, Any]:
    """Returns the body of the webhook."""
    facts = delivery.facts
    about = {"kind": delivery.kind, "sentence": facts["sentence"], "code": facts["code"], "batched": delivery.batched}
    if delivery.kind == AlertKind.SERVICE:
        data = {**about, "moment": facts["moment"], "url": _link(delivery)}
        return {"type": f"service.{facts['moment']}", "timestamp": facts["at"], "data": data}
    if delivery.project_id:
        about["project"] = {"id": str(delivery.project_id), "name": facts["project"], "url": _link(delivery)}
    return {"type": f"project.{delivery.kind}", "timestamp": facts["at"], "data": about}


def compose(delivery: AlertDelivery) -> str:
    """Returns the message as plain text."""
    facts = delivery.facts
    lines = [f"{facts['project']}: {facts['sentence']}." if facts["project"] else f"{facts['sentence']}."]
    if delivery.batched:
        others = "other event has" if delivery.batched == 1 else "other events have"
        lines.append(f"{delivery.batched} {others} come before.")
    return "\n".join([*lines, *([_link(delivery)] if delivery.kind != TEST else [])])


def _link(delivery: AlertDelivery) -> str:
    if delivery.kind == AlertKind.SERVICE:
        return f"{settings.BERTH_PUBLIC_URL}/admin/"
    return f"{settings.BERTH_PUBLIC_URL}/projects/{delivery.project_id}"


def _send_by_bot(delivery: AlertDelivery) -> Sent:
    channel = delivery.channel
    answer = ask_bot(channel, "sendMessage", chat_id=channel.target, text=compose(delivery))
    if answer.is_success:
        return Sent(DeliveryState.DELIVERED, "Telegram took it")
    if answer.status in _FINAL:
        return Sent(DeliveryState.REFUSED, "Telegram refused it. Press Start in the bot's chat, or set it again.")
    result = "Telegram did not answer" if answer.status is None else f"Answered {answer.status}"
    return Sent(DeliveryState.WAITING, result)


def _send_by_mail(delivery: AlertDelivery) -> Sent:
    """Puts the message into the outbox, which retries by itself, in one transaction with the row.

    Raises `OutboxFullError`.
    """
    facts = {**{name: str(value) for name, value in delivery.facts.items()}, "text": compose(delivery)}
    with transaction.atomic():
        queue_mail(kind=MAIL, user_id=delivery.channel.user_id, facts=facts)
        AlertDelivery.objects.filter(pk=delivery.pk).update(state=DeliveryState.DELIVERED, ended_at=clock.now())
    return Sent(DeliveryState.DELIVERED, "In the outbox")
