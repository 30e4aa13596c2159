"""Decides which methods of the Bot API an agent may call. Telegram ignores the case of their names. Pure."""

from gateway.rules.refusals import RefusedError, Why

_REFUSED = frozenset({"setwebhook", "logout", "close"})
"""These would send the bot's messages elsewhere, or move the bot to another server."""

_KNOWN = frozenset({
    "answercallbackquery", "copymessage", "deletemessage", "deletewebhook", "editmessagetext", "forwardmessage",
    "getchat", "getfile", "getme", "getupdates", "getwebhookinfo", "sendaudio", "sendchataction", "senddocument",
    "sendmessage", "sendphoto", "sendvideo", "sendvoice", "setmycommands",
})  # fmt: skip
"""Methods that were there in 2020. A server of one's own may lack later ones."""

_SENDS = ("send", "copymessage", "forwardmessage")


def check_method(method: str) -> None:
    """Raises RefusedError for a method by which Berth would lose control of the bot or of a bot's token."""
    name = method.lower()
    if name in _REFUSED:
        raise RefusedError(Why.BAD, f"Bad Request: {method} is not available: Berth receives this bot's messages")
    if "token" in name:
        # getManagedBotToken and replaceManagedBotToken return a credential.
        raise RefusedError(Why.BAD, f"Bad Request: {method} is not available: Berth keeps the tokens of bots")


def is_poll(method: str) -> bool:
    return method.lower() == "getupdates"


def is_webhook_removal(method: str) -> bool:
    return method.lower() == "deletewebhook"


def is_message(method: str) -> bool:
    """Whether the method adds a message to the chat. "Typing" and drafts of an unfinished answer do not."""
    name = method.lower()
    return name.startswith(_SENDS) and name != "sendchataction" and not name.endswith("draft")


def is_known(method: str) -> bool:
    """Whether every server of the Bot API has the method, so that a 404 can only be about the token."""
    return method.lower() in _KNOWN
