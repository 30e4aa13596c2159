"""Decides which updates the child gets: only those of allowed people, and none that it cannot read."""

from typing import Any

EVERYBODY = "*"
KINDS = ("message", "edited_message", "callback_query", "message_reaction", "inline_query")
"""The updates in which a person addresses the bot; the child gets no others."""


WHOLE, ALONE = 3, 3
"""How often the child gets the same updates, and how often it then gets the first of them alone."""


class RepeatedUpdates:
    """Gets a child past an update that it cannot read.

    Libraries read either all updates or none. So an update of a newer kind, or one that someone has malformed on
    purpose, would be requested again forever, and the agent would no longer answer anyone.
    """

    def __init__(self) -> None:
        self._first = 0
        self._times = 0

    def reduce(self, updates: list[Any]) -> list[Any]:
        """Returns the updates for the child.

        The child confirms updates that it has read, so the same first update comes again only if the child could not
        read them. After `WHOLE` attempts it gets the first one alone, and after `ALONE` more only its number.
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
    """Returns the updates, but only the number of each one from a person who is not allowed.

    The number stays, so that the child confirms it to Telegram with the others.
    """
    return [each if is_admitted(each, allowed) else {"update_id": _number(each)} for each in updates]


def is_admitted(update: Any, allowed: frozenset[str]) -> bool:
    sender = sender_of(update)
    if sender is None:
        return False
    return EVERYBODY in allowed or not names_of(sender).isdisjoint(allowed)


def sender_of(update: Any) -> dict[str, Any] | None:
    """Returns the sender, or None if no person speaks: channels, and people who write as a channel."""
    if not isinstance(update, dict):
        return None
    found: dict[str, Any] = next((update[kind] for kind in KINDS if isinstance(update.get(kind), dict)), {})
    sender = found.get("from") or found.get("user")
    is_person = isinstance(sender, dict) and sender.get("is_bot") is False and "sender_chat" not in found
    return sender if is_person else None


def names_of(sender: dict[str, Any]) -> set[str]:
    return {str(sender.get("id", "")), str(sender.get("username") or "").lower()} - {""}


def newest(updates: list[Any]) -> int:
    """Returns the number of the last update, or 0 for none."""
    return max((_number(each) for each in updates), default=0)


def _number(update: Any) -> int:
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) else 0
