"""The Telegram bot of a project, as it is shown."""

from typing import TypedDict


class Bot(TypedDict):
    """A Telegram bot on the wire. Its name and address are empty until Telegram has answered."""

    id: int
    username: str
    url: str


def describe_bot(bot_id: int | None, username: str) -> Bot | None:
    if bot_id is None:
        return None
    return Bot(id=bot_id, username=username, url=f"https://t.me/{username}" if username else "")
