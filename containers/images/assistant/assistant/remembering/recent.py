"""Messages with files that were said within the hour, with their albums: an edit brings one message alone."""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from telegram import Message

from assistant.telegram.incoming import Incoming

KEPT_SECONDS = 3600.0
MOST_KEPT = 300  # messages: some kilobytes each

Key = tuple[int, int]


def speak_for(messages: Iterable[Message]) -> tuple[Message, tuple[Message, ...]]:
    """Of an album the message that speaks for all, which is the one with the text, and the others."""
    album = sorted(messages, key=lambda each: each.message_id)
    first = next((each for each in album if each.caption), album[0])
    return first, tuple(each for each in album if each is not first)


class Said(NamedTuple):
    until: float
    incoming: Incoming
    question: str | None
    """As it was asked; None where it was not, as it was not for the agent or too much."""


class Recent:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: dict[Key, Said] = {}  # the oldest first

    def keep(self, incoming: Incoming, question: str | None) -> None:
        """What has no files is remembered as it was said, and so needs no place here."""
        if not incoming.attachments:
            return
        for message in (incoming.message, *incoming.others):
            key = (message.chat_id, message.message_id)
            self._kept.pop(key, None)
            self._kept[key] = Said(self._now() + KEPT_SECONDS, incoming, question)
        while len(self._kept) > MOST_KEPT or next(iter(self._kept.values())).until <= self._now():
            del self._kept[next(iter(self._kept))]

    def find(self, message: Message) -> Said | None:
        """What was said with this message before it was edited."""
        found = self._kept.get((message.chat_id, message.message_id))
        return found if found is not None and found.until > self._now() else None

    def edit(self, edited: Message) -> tuple[Message, tuple[Message, ...]]:
        """As `speak_for`, of its album as it is now."""
        said = self.find(edited)
        members = (said.incoming.message, *said.incoming.others) if said is not None else ()
        return speak_for((edited, *(each for each in members if each.message_id != edited.message_id)))
