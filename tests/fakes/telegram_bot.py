"""A bot as the fake Telegram keeps it: its chats, what it has sent and what it has called."""

from dataclasses import dataclass, field
from typing import Any

from tests.fakes.messages import Fault


@dataclass(frozen=True)
class Sent:
    """A message that a bot has sent (or an edit of one)."""

    chat_id: int
    text: str
    method: str
    message_id: int
    at: float
    fields: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Draft:
    """What a private chat shows of an unfinished message."""

    draft_id: int
    text: str
    can_stop: bool


@dataclass(frozen=True)
class Call:
    method: str
    http: str
    fields: dict[str, Any]
    at: float


@dataclass(frozen=True)
class Polls:
    count: int = 0  # getUpdates requests that came
    last: float | None = None  # when the last one came, time.time()
    open: int = 0  # long polls waiting right now


@dataclass(frozen=True)
class File:
    """A file that a user has sent. Telegram may report another size than it has."""

    file_id: str
    content: bytes = field(repr=False)
    size: int

    @property
    def path(self) -> str:
        return f"documents/{self.file_id}"


@dataclass
class Bot:
    token: str = field(repr=False)
    username: str
    revoked: bool = False
    webhook: str = ""
    updates: list[dict[str, Any]] = field(default_factory=list)
    history: dict[int, dict[str, Any]] = field(default_factory=dict)  # what each update was about
    next_update: int = 100_000_001
    next_message: int = 1
    poll_generation: int = 0
    open_polls: int = 0
    polls: list[float] = field(default_factory=list)
    chats: dict[int, dict[str, Any]] = field(default_factory=dict)
    blocked: set[int] = field(default_factory=set)
    drafts: dict[int, Draft] = field(default_factory=dict)
    allowed: frozenset[str] | None = None  # kinds of updates that it has requested
    sent: list[Sent] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    commands: list[Any] = field(default_factory=list)

    files: dict[str, File] = field(default_factory=dict)
    picture: str = ""
    """The id of the file of its own picture."""

    @property
    def id(self) -> int:
        return int(self.token.partition(":")[0])

    def user(self) -> dict[str, Any]:
        return {"id": self.id, "is_bot": True, "first_name": self.username, "username": self.username}
