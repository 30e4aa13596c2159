"""The methods of the Bot API, except getUpdates, which waits."""

import re
import time
from collections.abc import Callable
from typing import Any

from tests.fakes.telegram_bot import Bot, Draft, Sent
from tests.fakes.telegram_errors import ApiError
from tests.fakes.telegram_files import get_file, list_photos
from tests.fakes.telegram_texts import check_text, read_entities

BOT_RIGHTS = {"can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False}


def call_method(bot: Bot, method: str, fields: dict[str, Any]) -> tuple[Any, str | None]:
    """A method's answer: its result, and Telegram's optional description of it."""
    if method in ("setwebhook", "deletewebhook"):
        return _webhook(bot, method, fields)
    answers: dict[str, Callable[[], Any]] = {
        "getme": lambda: bot.user() | BOT_RIGHTS,
        "sendmessage": lambda: _send(bot, method, fields),
        "editmessagetext": lambda: _edit(bot, fields),
        "deletemessage": lambda: _delete(bot, fields),
        "sendchataction": lambda: bool(_chat(bot, fields)),
        "sendmessagedraft": lambda: _draft(bot, fields),
        "getwebhookinfo": lambda: _webhook_info(bot),
        "getchat": lambda: _chat(bot, fields) | {"accent_color_id": 0, "max_reaction_count": 11},
        "getfile": lambda: get_file(bot, fields),
        "getuserprofilephotos": lambda: list_photos(bot, fields),
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
    check_text(text, read_entities(fields))
    number = bot.next_message
    bot.next_message += 1
    bot.drafts.pop(chat["id"], None)  # a message takes the place of a draft
    return _said(bot, Sent(chat["id"], text, method, number, time.time(), fields))


def _edit(bot: Bot, fields: dict[str, Any]) -> dict[str, Any]:
    """Edits a message of the bot's own. The new text must differ from the old one."""
    chat, text = _chat(bot, fields), str(fields.get("text") or "")
    check_text(text, read_entities(fields))
    number = int(fields.get("message_id") or 0)
    before = _find(bot, chat["id"], number)
    if before is None:
        raise ApiError(400, "Bad Request: message to edit not found")
    if (before.text, read_entities(before.fields)) == (text, read_entities(fields)):
        words = "message is not modified: specified new message content and reply markup are exactly the same"
        raise ApiError(400, f"Bad Request: {words} as a current content and reply markup of the message")
    return _said(bot, Sent(chat["id"], text, "editmessagetext", number, time.time(), fields))


def _delete(bot: Bot, fields: dict[str, Any]) -> bool:
    chat, number = _chat(bot, fields)["id"], int(fields.get("message_id") or 0)
    if _find(bot, chat, number) is None:
        raise ApiError(400, "Bad Request: message to delete not found")
    bot.sent[:] = [sent for sent in bot.sent if (sent.chat_id, sent.message_id) != (chat, number)]
    return True


def _find(bot: Bot, chat: int, number: int) -> Sent | None:
    """Returns the message's current text."""
    return next((s for s in reversed(bot.sent) if (s.chat_id, s.message_id) == (chat, number)), None)


def _said(bot: Bot, sent: Sent) -> dict[str, Any]:
    bot.sent.append(sent)
    facts = {"message_id": sent.message_id, "date": int(sent.at), "text": sent.text}
    return facts | {"from": bot.user(), "chat": bot.chats[sent.chat_id]}


def _draft(bot: Bot, fields: dict[str, Any]) -> bool:
    """A draft is shown for half a minute in a private chat, and is never one of its messages."""
    chat = _chat(bot, fields)
    if chat["type"] != "private":
        raise ApiError(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
    if not int(fields.get("draft_id") or 0):
        raise ApiError(400, "Bad Request: draft_id must be non-zero")
    text = str(fields.get("text") or "")
    check_text(text, read_entities(fields), may_be_empty=True)
    bot.drafts[chat["id"]] = Draft(int(fields["draft_id"]), text, str(fields.get("can_stop")).lower() == "true")
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
