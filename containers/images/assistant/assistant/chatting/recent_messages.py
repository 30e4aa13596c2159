"""Keeps messages with files for an hour, together with their albums, because an edit arrives as a single message."""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from telegram import Message

from assistant.telegram.incoming import Incoming

KEPT_SECONDS = 3600.0
MOST_KEPT = 300  # messages of a few kilobytes each

Key = tuple[int, int]


def split_album(messages: Iterable[Message]) -> tuple[Message, tuple[Message, ...]]:
    """Returns the main message of an album, which is the one with a caption or else the first, and the others."""
    album = sorted(messages, key=lambda each: each.message_id)
    first = next((each for each in album if each.caption), album[0])
    return first, tuple(each for each in album if each is not first)


class RecentMessage(NamedTuple):
    until: float
    incoming: Incoming
    question: str | None
    """The question as it was asked; None if the message was not for the agent or exceeded a limit."""


class RecentMessages:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: dict[Key, RecentMessage] = {}  # the oldest first

    def keep(self, incoming: Incoming, question: str | None) -> None:
        """Keeps a message that has files. Other messages need no copy, because the chat memory has their exact text."""
        if not incoming.attachments:
            return
        for message in (incoming.message, *incoming.others):
            key = (message.chat_id, message.message_id)
            self._kept.pop(key, None)
            self._kept[key] = RecentMessage(self._now() + KEPT_SECONDS, incoming, question)
        while len(self._kept) > MOST_KEPT or next(iter(self._kept.values())).until <= self._now():
            del self._kept[next(iter(self._kept))]

    def find(self, message: Message) -> RecentMessage | None:
        """Returns the message as it was before the edit, or None if it is not kept."""
        found = self._kept.get((message.chat_id, message.message_id))
        return found if found is not None and found.until > self._now() else None

    def edit(self, edited: Message) -> tuple[Message, tuple[Message, ...]]:
        """Returns the same as `split_album`, for the album with the edited message in it."""
        found = self.find(edited)
        members = (found.incoming.message, *found.incoming.others) if found is not None else ()
        return split_album((edited, *(each for each in members if each.message_id != edited.message_id)))
