"""How the Telegram bot of a project is shown."""

from typing import TypedDict

CLAIMED = "bot_claimed"
"""The failure of a project if another project has proved that it owns the bot."""

BOT_DENIED = frozenset({CLAIMED, "telegram_token"})
"""The failures that end a project's claim to its bot. Its container must not run until the owner starts it again."""


class Bot(TypedDict):
    """A Telegram bot in the API. Its name and address are empty until Telegram has answered."""

    id: int
    username: str
    url: str
    paired: int | None


def describe_bot(bot_id: int | None, username: str, *, code: str = "", paired: int | None = None) -> Bot | None:
    """Describes a bot, or returns None if there is none. With a pairing code, the address is the one-time link."""
    if bot_id is None:
        return None
    return Bot(id=bot_id, username=username, url=address_of(username, code), paired=paired)


def address_of(username: str, code: str = "") -> str:
    """Returns the bot's address on t.me, or an empty text if its name is unknown."""
    if not username:
        return ""
    return f"https://t.me/{username}" + (f"?start={code}" if code else "")
