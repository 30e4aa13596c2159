"""The chat to which a user's own bot writes: found by the message that opens it, or typed by the user."""

import re
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.outbound.call_limits import time_limit
from projects.credentials.http_client import Answer, ask
from projects.credentials.verification import parse_bot_id
from projects.errors import InvalidFieldError
from projects.models import AlertChannel, Project
from projects.models.alert import SECRET
from projects.services.bulkheads import COMMANDS

NEWEST = (20, 1)
"""How many messages to the bot are read: only the last one if the answer with more is too long."""

_REFUSED = "It refused the bot's token: set another one."
_WHY = {
    401: _REFUSED,
    404: _REFUSED,
    409: "Another program reads it, or its webhook is set: type the number of the chat instead.",
}
_NO_ANSWER = "Try again in a minute, or type the number of the chat."

CHAT_FORMAT = re.compile(r"-?[0-9]{1,18}")


@sensitive_variables("token")
def ask_bot(channel: AlertChannel, method: str, **fields: str) -> Answer:
    """Calls a method of Telegram for the user's bot, within the limit for outside calls.

    Raises `SecretUnreadableError`.
    """
    token = quote(channel.decrypt(SECRET), safe=":")
    with time_limit(settings.BERTH_OUTSIDE_LIMIT):
        return ask(f"{settings.BERTH_TELEGRAM_API}/bot{token}/{method}?{urlencode(fields)}")


def find_chat(channel: AlertChannel) -> None:
    """Finds the message that the link to the bot sends, and stores its chat.

    Raises `InvalidFieldError`, `NoPlaceError` and `SecretUnreadableError`.
    """
    check_no_agent_has(parse_bot_id(channel.decrypt(SECRET)))  # an agent may have got it since it was set
    with COMMANDS.take(channel.user.email), time_limit(settings.BERTH_OUTSIDE_LIMIT):
        updates = _read_updates(channel)
    chat = next((found for update in updates if (found := _chat_of(update, channel.link_code))), None)
    if chat is None:
        raise InvalidFieldError(
            "The bot has not received your message yet. Open the link, press Start, and look again.",
            field="chat",
            code="not_found",
        )
    set_chat(channel, chat)


def check_no_agent_has(bot_id: int | None) -> None:
    """Raises `InvalidFieldError` if an agent has this bot, because reading its messages would take them away."""
    if Project.objects.live().filter(bot_id=bot_id).exists():
        raise InvalidFieldError(
            "An agent uses this bot and gets its messages. Create another one with @BotFather.",
            field="token",
            code="bot_in_use",
        )


def _read_updates(channel: AlertChannel) -> list[Any]:
    """Returns recent messages to the bot. Telegram forgets older ones."""
    for newest in NEWEST:
        fields = {"offset": str(-newest), "limit": str(newest), "timeout": "0", "allowed_updates": '["message"]'}
        answer = ask_bot(channel, "getUpdates", **fields)
        updates = answer.body.get("result")
        if answer.is_success and isinstance(updates, list):
            return updates
        if not answer.is_success:
            break
    why = _WHY.get(answer.status or 0, _NO_ANSWER)
    raise InvalidFieldError(f"Telegram did not say what was sent to the bot. {why}", field="chat", code="unread")


def check_chat(chat: str) -> None:
    """Raises `InvalidFieldError` if this is not a chat's number."""
    if not CHAT_FORMAT.fullmatch(chat):
        raise InvalidFieldError(
            "The number of a chat has digits only, and a minus for a group.", field="chat", code="invalid"
        )


def set_chat(channel: AlertChannel, chat: str) -> None:
    """Stores the chat. Raises `InvalidFieldError` if this is not a chat's number."""
    check_chat(chat)
    AlertChannel.objects.filter(pk=channel.pk, secret_ciphertext=channel.secret_ciphertext).update(target=chat)


def _chat_of(update: Any, code: str) -> str | None:
    """Returns the chat of the message if it is the one that the link sends. In groups, Telegram adds the bot's name."""
    try:
        text, chat = update["message"]["text"], update["message"]["chat"]["id"]
    except (KeyError, TypeError):
        return None
    if not isinstance(text, str) or not isinstance(chat, int) or not code:
        return None
    command, _, sent = text.partition(" ")
    return str(chat) if command.partition("@")[0] == "/start" and sent.strip() == code else None
