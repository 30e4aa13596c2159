"""The methods of the Bot API, all but getUpdates, which waits."""

import re
import time
from collections.abc import Callable
from typing import Any

from tests.fakes.telegram_bot import Bot, Sent
from tests.fakes.telegram_errors import ApiError

BOT_RIGHTS = {"can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False}
LONGEST_MESSAGE = 4096  # UTF-16 code units


def call_method(bot: Bot, method: str, fields: dict[str, Any]) -> tuple[Any, str | None]:
    """What a method answers: its result and Telegram's optional description of it."""
    if method in ("setwebhook", "deletewebhook"):
        return _webhook(bot, method, fields)
    answers: dict[str, Callable[[], Any]] = {
        "getme": lambda: bot.user() | BOT_RIGHTS,
        "sendmessage": lambda: _send(bot, method, fields),
        "editmessagetext": lambda: _send(bot, method, fields),
        "sendchataction": lambda: bool(_chat(bot, fields)),
        "sendmessagedraft": lambda: _draft(bot, fields),
        "getwebhookinfo": lambda: _webhook_info(bot),
        "getchat": lambda: _chat(bot, fields) | {"accent_color_id": 0, "max_reaction_count": 11},
        "getmycommands": lambda: bot.commands,
    }
    if method in answers:
        return answers[method](), None
    if re.match(r"(set|delete|answer|close|logout|pin|unpin)", method):
        return True, None
    raise ApiError(404, "Not Found")


def _webhook_info(bot: Bot) -> dict[str, Any]:
    info = {"url": bot.webhook, "has_custom_certificate": False, "pending_update_count": len(bot.updates)}
    return info | ({"max_connections": 40} if bot.webhook else {})


def _send(bot: Bot, method: str, fields: dict[str, Any]) -> dict[str, Any]:
    chat, text = _chat(bot, fields), str(fields.get("text") or "")
    if not text.strip():
        raise ApiError(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_MESSAGE:
        raise ApiError(400, "Bad Request: message is too long")
    number = int(fields.get("message_id") or 0) or bot.next_message
    bot.next_message = max(bot.next_message, number + 1)
    at = time.time()
    bot.sent.append(Sent(chat["id"], text, method, number, at, fields))
    return {"message_id": number, "from": bot.user(), "chat": chat, "date": int(at), "text": text}


def _draft(bot: Bot, fields: dict[str, Any]) -> bool:
    """Shown for half a minute in a private chat, and never one of its messages."""
    if _chat(bot, fields)["type"] != "private":
        raise ApiError(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
    if not int(fields.get("draft_id") or 0):
        raise ApiError(400, "Bad Request: draft_id must be non-zero")
    if len(str(fields.get("text") or "").encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_MESSAGE:
        raise ApiError(400, "Bad Request: message is too long")
    return True


def _chat(bot: Bot, fields: dict[str, Any]) -> dict[str, Any]:
    if not fields.get("chat_id"):
        raise ApiError(400, "Bad Request: chat_id is empty")
    chat_id = int(fields["chat_id"])
    if chat_id in bot.blocked:
        raise ApiError(403, "Forbidden: bot was blocked by the user")
    if chat_id not in bot.chats:  # a bot cannot begin a conversation
        raise ApiError(400, "Bad Request: chat not found")
    return bot.chats[chat_id]


def _webhook(bot: Bot, method: str, fields: dict[str, Any]) -> tuple[bool, str]:
    before = bot.webhook
    bot.webhook = str(fields.get("url") or "") if method == "setwebhook" else ""
    if bot.webhook and not bot.webhook.startswith("https://"):
        bot.webhook = before
        raise ApiError(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
    if str(fields.get("drop_pending_updates")).lower() == "true":
        bot.updates.clear()
    if bot.webhook:
        return True, "Webhook was set" if bot.webhook != before else "Webhook is already set"
    return True, "Webhook was deleted" if before else "Webhook is already deleted"
