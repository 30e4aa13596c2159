"""What an upstream's answer proves about the credentials of an agent. Pure.

Most answers prove nothing: an upstream that is busy or broken neither accepts nor refuses a credential.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Fact(StrEnum):
    """What an upstream can accept or refuse. A refusal stands until an answer proves that the same is accepted."""

    TOKEN = "token"  # noqa: S105 - a name
    """Telegram knows the bot's token."""
    POLLING = "polling"
    """No other program receives the bot's messages."""
    KEY = "key"
    """The provider knows the key."""
    PERMISSION = "permission"
    """The key may be used for answers of models."""
    CREDIT = "credit"
    """The account can pay for a call."""


OF_TELEGRAM = frozenset({Fact.TOKEN, Fact.POLLING})


@dataclass(frozen=True, slots=True)
class Proof:
    accepted: frozenset[Fact] = frozenset()
    refused: Fact | None = None
    doubtful: frozenset[Fact] = frozenset()
    """What may be refused now: an earlier acceptance no longer counts, and an earlier refusal stands."""


NOTHING = Proof()


def read_object(body: bytes) -> Mapping[str, object]:
    """Returns the JSON object in an error's body; empty if it is anything else."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def words_of(answer: Mapping[str, object]) -> Iterator[str]:
    """Yields the code, type and message of a provider's error in any format."""
    error = answer.get("error")
    for place in (error if isinstance(error, dict) else {}, answer):
        yield from (each for name in ("code", "type", "message") if isinstance(each := place.get(name), str))
    if isinstance(error, str):
        yield error
