"""The chat that a user's own bot writes to: learned from the message that opens it, or typed."""

import re
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.call_limits import time_limit
from projects.credentials.outside import Answer, ask
from projects.errors import InvalidFieldError
from projects.models import AlertChannel
from projects.models.alert import SECRET

CHAT_FORMAT = re.compile(r"-?[0-9]{1,18}")


@sensitive_variables("token")
def ask_bot(channel: AlertChannel, method: str, **fields: str) -> Answer:
    """What Telegram answers the user's bot, within the limit for such questions. Raises `SecretUnreadableError`."""
    token = quote(channel.decrypt(SECRET), safe=":")
    with time_limit(settings.BERTH_OUTSIDE_LIMIT):
        return ask(f"{settings.BERTH_TELEGRAM_API}/bot{token}/{method}?{urlencode(fields)}")


def find_chat(channel: AlertChannel) -> None:
    """Looks for the message that the link to the bot sends, and keeps its chat. Raises `InvalidFieldError`."""
    answer = ask_bot(channel, "getUpdates", timeout="0", limit="100", allowed_updates='["message"]')
    updates = answer.body.get("result")
    if not answer.is_success or not isinstance(updates, list):
        raise InvalidFieldError(
            "Telegram did not tell what was sent to the bot. Another program may read it, or its webhook may be set. "
            "Type the number of the chat instead.",
            field="chat",
            code="unread",
        )
    chat = next((found for update in updates if (found := _chat_of(update, channel.link_code))), None)
    if chat is None:
        raise InvalidFieldError(
            "The bot has not got your message yet. Open the link, press Start, and look again.",
            field="chat",
            code="not_found",
        )
    set_chat(channel, chat)


def set_chat(channel: AlertChannel, chat: str) -> None:
    """Raises `InvalidFieldError`."""
    if not CHAT_FORMAT.fullmatch(chat):
        raise InvalidFieldError(
            "The number of a chat has digits only, and a minus for a group.", field="chat", code="invalid"
        )
    AlertChannel.objects.filter(pk=channel.pk, secret_ciphertext=channel.secret_ciphertext).update(target=chat)


def _chat_of(update: Any, code: str) -> str | None:
    """The chat of the message, where it is the one that the link sends. Telegram adds the bot's name in groups."""
    try:
        text, chat = update["message"]["text"], update["message"]["chat"]["id"]
    except (KeyError, TypeError):
        return None
    if not isinstance(text, str) or not isinstance(chat, int) or not code:
        return None
    command, _, sent = text.partition(" ")
    return str(chat) if command.partition("@")[0] == "/start" and sent.strip() == code else None
