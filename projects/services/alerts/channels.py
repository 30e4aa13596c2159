"""The channels of a user's alerts: which kinds they choose, and the credentials of webhooks and bots."""

import secrets
from base64 import b64encode
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from accounts.credentials.encryption import uses_first_key
from accounts.models import User
from containers.public_http import AddressRefusedError, NoAnswerError, check_address
from projects.credentials.encryption import hint_of
from projects.credentials.verification import verify_credentials
from projects.errors import InvalidFieldError
from projects.models import AlertChannel
from projects.models.alert import ADDRESS, SECRET
from projects.rules.alerts import DEFAULT_MAIL_KINDS, AlertKind, Way
from projects.services.alerts.chat import check_no_agent_has
from projects.services.bulkheads import COMMANDS

SECRET_BYTES = 32
SECRET_PREFIX = "whsec_"  # noqa: S105 - how standardwebhooks.com marks them


def wants_mail(user_id: UUID, kind: AlertKind) -> bool:
    chosen = AlertChannel.objects.filter(user_id=user_id, way=Way.MAIL).values_list(kind.value, flat=True).first()
    return kind in DEFAULT_MAIL_KINDS if chosen is None else bool(chosen)


def find_channels(user: User) -> dict[str, AlertChannel]:
    """Returns the user's channels by way."""
    return {channel.way: channel for channel in AlertChannel.objects.filter(user=user)}


def choose_kinds(*, user: User, way: Way, kinds: Collection[str]) -> AlertChannel:
    chosen = {kind.value: kind.value in kinds for kind in AlertKind}
    channel, _ = AlertChannel.objects.update_or_create(user=user, way=way, defaults=chosen)
    return channel


@sensitive_variables("url", "secret")
def set_webhook(*, user: User, url: str) -> str:
    """Sets the webhook's address. Returns its new secret, which is never shown again, or an empty text if it had one.

    Raises `InvalidFieldError` if nothing may be sent to the address, and `NoPlaceError`.
    """
    try:
        with COMMANDS.take(user.email):
            server = check_address(url, within=settings.BERTH_OUTSIDE_LIMIT, asker=str(user.pk))
    except (AddressRefusedError, NoAnswerError) as error:
        raise InvalidFieldError(str(error), field="url", code="refused") from None
    channel, _ = AlertChannel.objects.get_or_create(user=user, way=Way.WEBHOOK)
    row = AlertChannel.objects.filter(pk=channel.pk)
    values = {"target": f"{server}/…"[:300], **channel.encrypt(ADDRESS, url)}
    secret, columns = _make_secret(channel)
    if row.filter(secret_ciphertext="").update(**values, **columns):  # at once, so that nothing is sent unsigned
        return secret
    row.update(**values)
    return ""


@sensitive_variables("secret")
def renew_secret(*, user: User) -> str:
    """Replaces and returns the webhook's secret, or returns an empty text if there is no webhook."""
    channel = AlertChannel.objects.filter(user=user, way=Way.WEBHOOK).first()
    if channel is None:
        return ""
    secret, columns = _make_secret(channel)
    return secret if AlertChannel.objects.filter(pk=channel.pk).update(**columns) else ""


@sensitive_variables("secret")
def _make_secret(channel: AlertChannel) -> tuple[str, dict[str, Any]]:
    """Returns a new secret and the columns that store it."""
    secret = SECRET_PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    return secret, {**channel.encrypt(SECRET, secret), "secret_hint": hint_of(secret)}


@sensitive_variables("token")
def set_bot(*, user: User, token: str) -> None:
    """Sets a bot of the user. Its chat must be linked again after that.

    Raises `InvalidFieldError` and `NoPlaceError`.
    """
    with COMMANDS.take(user.email):
        check = verify_credentials(telegram_token=token, api_key="")
    if settings.BERTH_VERIFY_CREDENTIALS and not check.bot_known:
        raise InvalidFieldError("Telegram did not answer. Try again in a minute.", field="token", code="unverified")
    check_no_agent_has(check.bot_id)
    channel, _ = AlertChannel.objects.get_or_create(user=user, way=Way.TELEGRAM)
    AlertChannel.objects.filter(pk=channel.pk).update(
        **channel.encrypt(SECRET, token),
        secret_hint=hint_of(token),
        bot_username=check.bot_username,
        link_code=secrets.token_hex(8),
        target="",
    )


def remove_channel(*, user: User, way: Way) -> bool:
    """Deletes the channel with its credentials and its log. Without a row for mail, the default kinds are mailed."""
    return bool(AlertChannel.objects.filter(user=user, way=way).delete()[0])


def rotate_alert_secrets() -> int:
    """Encrypts all credentials again with the first key. Returns the number of channels.

    Raises `SecretUnreadableError`.
    """
    done = 0
    for channel in AlertChannel.objects.exclude(way=Way.MAIL).iterator():
        for field in (SECRET, ADDRESS):
            _rotate(channel, field)
        done += 1
    return done


@sensitive_variables("value")
def _rotate(channel: AlertChannel, field: str) -> None:
    column = f"{field}_ciphertext"
    before: str = getattr(channel, column)
    if not before or uses_first_key(before):
        return
    values: dict[str, Any] = channel.encrypt(field, channel.decrypt(field))
    AlertChannel.objects.filter(pk=channel.pk, **{column: before}).update(**values)
