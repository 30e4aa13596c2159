"""Collects albums: Telegram sends each picture as a separate message, but the agent handles an album as one."""

import asyncio
from collections.abc import Callable

from telegram import Message

QUIET_SECONDS = 1.0  # an album is complete this long after its last picture
MOST_PICTURES = 10  # Telegram's limit for an album
MOST_ALBUMS = 100  # incomplete at the same time; beyond that, the oldest counts as complete

Key = tuple[int, int, str]


class Albums:
    def __init__(self, take: Callable[[list[Message]], None]) -> None:
        self._take = take
        self._gathered: dict[Key, list[Message]] = {}
        self._waiting: dict[Key, asyncio.TimerHandle] = {}

    def add(self, message: Message) -> bool:
        """Adds the message to its album. Returns False if it belongs to no album."""
        if not message.media_group_id or message.from_user is None:
            return False
        key = (message.chat_id, message.from_user.id, message.media_group_id)
        if key not in self._gathered and len(self._gathered) >= MOST_ALBUMS:
            self._finish(next(iter(self._gathered)))
        self._gathered.setdefault(key, []).append(message)
        if (waiting := self._waiting.pop(key, None)) is not None:
            waiting.cancel()
        if len(self._gathered[key]) >= MOST_PICTURES:
            self._finish(key)
        else:
            self._waiting[key] = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._finish, key)
        return True

    def replace(self, edited: Message) -> bool:
        """Replaces an edited message in its album. Returns False if it is in no incomplete album."""
        for album in self._gathered.values():
            for place, message in enumerate(album):
                if (message.chat_id, message.message_id) == (edited.chat_id, edited.message_id):
                    album[place] = edited
                    return True
        return False

    def finish(self) -> None:
        """Hands over all albums as they are, complete or not."""
        for key in list(self._gathered):
            self._finish(key)

    def _finish(self, key: Key) -> None:
        if (waiting := self._waiting.pop(key, None)) is not None:
            waiting.cancel()
        self._take(self._gathered.pop(key))
