"""One example of every kind of update and message. Those that the library knows are built from its own definitions;
newer ones are written out here.
"""

import datetime
import inspect
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

import telegram
from telegram import Message, Update

BASE = {"message_id", "date", "chat", "from_user", "text", "entities", "caption", "caption_entities"}
NEWER: dict[str, Any] = {
    "rich_message": {"blocks": [{"type": "paragraph", "text": ["Ahoy, ", {"type": "bold", "text": "ship"}]}]},
    "community_chat_added": {"community": {"id": 1, "name": "Harbour"}},
    "receiver_user": {"id": 5, "is_bot": True, "first_name": "Bot"},
    "ephemeral_message_id": 5,
    "of_next_year": {"anything": [1, None, "x"]},
}
"""Kinds of messages that are newer than the Bot API version of the library."""

NEWER_UPDATES: dict[str, Any] = {
    "subscription": {"user": {"id": 5, "is_bot": False, "first_name": "Ada"}},
    "of_next_year": [],
}
OLD_POLL = {"id": "x", "question": "x", "options": [{"text": "x", "voter_count": 1}], "total_voter_count": 1}
OLD_POLL |= {"is_closed": False, "is_anonymous": True, "type": "regular", "allows_multiple_answers": False}
"""The format of a Bot API server of 2025, which the library can no longer parse."""
NEW_OPTION = {"text": "x", "voter_count": 1, "persistent_id": "x"}
SIMPLE: dict[Any, Any] = {int: 1, float: 1.5, str: "x", bool: True, datetime.datetime: 1, datetime.timedelta: 1}
TYPES: dict[str, Any] = {
    "MessageOrigin": {"type": "hidden_user", "date": 1, "sender_user_name": "Eve"},
    "Poll": OLD_POLL | {"options": [NEW_OPTION], "allows_revoting": True, "members_only": False},
    "PollAnswer": {"poll_id": "x", "option_ids": [1], "option_persistent_ids": ["x"]},
    "ReactionType": {"type": "emoji", "emoji": "x"},
    "User": {"id": 5, "is_bot": False, "first_name": "Ada"},
}
"""One choice for each type that has several kinds, and fields that are required although the constructor omits them."""

SAID: dict[str, Any] = {"message_id": 1, "date": 1, "chat": {"id": 5, "type": "private"}}
UNREADABLE: list[dict[str, Any]] = [
    {},
    {"message": {}},
    {"message": {"message_id": 1}},
    {"message": SAID | {"chat": {"id": 5}}},
    {"message": SAID | {"date": "soon"}},
    {"message": SAID | {"date": 10**30}},
    {"message": SAID | {"photo": [{}]}},
    {"message": SAID | {"entities": [{"type": 5}]}},
    {"message": SAID | {"poll": OLD_POLL}},
    {"edited_message": []},
    {"message": "x"},
    {"message": None, "edited_message": None},
    {"stopped_message_generation": 5},
    {"stopped_message_generation": {"chat": {"id": []}, "draft_id": "x"}},
]


def contents() -> dict[str, Any]:
    """Returns everything that a message can contain apart from its text, by Telegram's names."""
    known = {name: hint for name, hint in _hints(Message).items() if name not in BASE and name in Message.__slots__}
    return {name: _sample(hint) for name, hint in known.items()} | NEWER


def updates() -> dict[str, Any]:
    """Returns one update of each kind. A message in it is a text from a person to the bot."""
    known = {name: hint for name, hint in _hints(Update).items() if name in Update.ALL_TYPES}
    return {name: _sample(hint) for name, hint in known.items()} | NEWER_UPDATES


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Builds an instance with only the required arguments of its constructor."""
    made_by = cls.__init__  # type: ignore[misc]  # of this very class
    return typing.get_type_hints(made_by, globalns=vars(inspect.getmodule(cls)), localns=vars(telegram))


def _sample(hint: Any) -> Any:
    """Returns the type as JSON, with only its required fields."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return parts[0]
    if origin is not None and isinstance(origin, type) and issubclass(origin, typing.Collection):
        return [_sample(parts[0])]
    if parts:
        return _sample(parts[0])
    if isinstance(hint, type) and issubclass(hint, telegram.TelegramObject):
        return TYPES.get(hint.__name__) or dict(_required(hint))
    return "x"


def _required(cls: type) -> Iterator[tuple[str, Any]]:
    made_by = cls.__init__  # type: ignore[misc]  # of this very class
    for name, parameter in inspect.signature(made_by).parameters.items():
        if name not in {"self", "api_kwargs"} and parameter.default is inspect.Parameter.empty:
            yield {"from_user": "from"}.get(name, name), _sample(_hints(cls)[name])
