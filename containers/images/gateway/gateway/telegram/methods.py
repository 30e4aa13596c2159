"""Which methods of the Bot API an agent may call. Pure. Telegram does not care for upper and lower case in them."""

from gateway.rules.refusals import RefusedError, Why

_REFUSED = frozenset({"setwebhook", "logout", "close"})
"""They would send the bot's messages elsewhere, or move the bot to another server."""

_SENDS = ("send", "copymessage", "forwardmessage")


def check_method(method: str) -> None:
    """Raises RefusedError for a method that takes the bot, or the token of a bot, out of our hands."""
    name = method.lower()
    if name in _REFUSED:
        raise RefusedError(Why.BAD, f"Bad Request: {method} is not available: Berth looks after this bot's messages")
    if "token" in name:
        # getManagedBotToken and replaceManagedBotToken answer with a credential.
        raise RefusedError(Why.BAD, f"Bad Request: {method} is not available: Berth keeps the tokens of bots")


def is_poll(method: str) -> bool:
    return method.lower() == "getupdates"


def is_webhook_removal(method: str) -> bool:
    return method.lower() == "deletewebhook"


def is_message(method: str) -> bool:
    """Whether it leaves a message in the chat: "typing" and the drafts of an answer that is being made do not."""
    name = method.lower()
    return name.startswith(_SENDS) and name != "sendchataction" and not name.endswith("draft")
