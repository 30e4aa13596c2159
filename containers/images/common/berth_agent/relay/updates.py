"""Whose messages the child sees, and which it cannot read."""

from typing import Any

EVERYBODY = "*"
KINDS = ("message", "edited_message", "callback_query", "message_reaction", "inline_query")
"""The updates in which a person speaks to the bot; any other is taken from the child."""


WHOLE, ALONE = 3, 3
"""How often the child gets the same updates, and then the first of them."""


class Repeats:
    """Gets a child past an update that it cannot read.

    Libraries read all that comes or nothing. So one update that is newer than them, or that somebody has made odd on
    purpose, would be asked for again for ever, and nobody would be answered any more.
    """

    def __init__(self) -> None:
        self._first = 0
        self._times = 0

    def ease(self, updates: list[Any]) -> list[Any]:
        """What the child gets of these. It confirms what it has read, so that the same one comes first again only where
        it has not: then that one alone, and at last nothing but its number.
        """
        if not updates:
            return []
        first = _number(updates[0])
        self._times = self._times + 1 if first == self._first else 1
        self._first = first
        if self._times <= WHOLE:
            return updates
        return updates[:1] if self._times <= WHOLE + ALONE else [{"update_id": first}]


def admit(updates: list[Any], allowed: frozenset[str]) -> list[Any]:
    """The updates, with nothing but its number in each that is of somebody who is not allowed.

    The number stays so that the child confirms it to Telegram with the others.
    """
    return [each if is_admitted(each, allowed) else {"update_id": _number(each)} for each in updates]


def is_admitted(update: Any, allowed: frozenset[str]) -> bool:
    sender = sender_of(update)
    if sender is None:
        return False
    return EVERYBODY in allowed or not names_of(sender).isdisjoint(allowed)


def sender_of(update: Any) -> dict[str, Any] | None:
    """None where nobody speaks in person: channels, and people who speak as one of them."""
    if not isinstance(update, dict):
        return None
    found: dict[str, Any] = next((update[kind] for kind in KINDS if isinstance(update.get(kind), dict)), {})
    sender = found.get("from") or found.get("user")
    is_person = isinstance(sender, dict) and sender.get("is_bot") is False and "sender_chat" not in found
    return sender if is_person else None


def names_of(sender: dict[str, Any]) -> set[str]:
    return {str(sender.get("id", "")), str(sender.get("username") or "").lower()} - {""}


def newest(updates: list[Any]) -> int:
    """The number of the last of them; 0 for none."""
    return max((_number(each) for each in updates), default=0)


def _number(update: Any) -> int:
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) else 0
