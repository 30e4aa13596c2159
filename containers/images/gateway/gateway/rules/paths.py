"""Reads from its path what a request asks for. Paths are not decoded, so that the upstream reads them the same way.

The only escapes allowed are those in a model's name (clients write models/openai%2Fgpt-5) and that of the colon in a
bot's token (python-telegram-bot escapes the paths of files).
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from gateway.entries.entry import Kind

_TELEGRAM = re.compile(
    r"/tg/(?P<file>file/)?bot\d{1,20}(?::|%3[Aa])(?P<credential>[\w-]{1,256})/(?P<rest>[^?]{1,512})", re.ASCII
)
"""Any number of a bot is accepted: the agent's token keeps the old one when its owner changes the bot."""
_SERVER = re.compile(r"/out/(?P<credential>[\w-]{1,256})/(?P<server>[0-9a-f]{16})", re.ASCII)
_METHOD = re.compile(r"[A-Za-z]{1,64}")
_FILE = re.compile(r"[\w-][\w.~-]*(?:/[\w-][\w.~-]*)*", re.ASCII)
_MODEL = re.compile(r"models/(?P<model>[\w~-](?:[\w.:@~+-]|/(?![./])|%2[Ff]|%3[Aa]|%40)*)", re.ASCII)
_LLM = "/llm/v1/"


class Call(Enum):
    """The kinds of calls to a provider."""

    CHAT = auto()
    RESPONSES = auto()
    MESSAGES = auto()
    EMBEDDINGS = auto()
    SPEECH = auto()
    TRANSCRIPTION = auto()
    COUNT = auto()
    LOOK = auto()
    """A GET request, free of charge."""


_POSTS = {
    "chat/completions": Call.CHAT,
    "completions": Call.CHAT,
    "responses": Call.RESPONSES,
    "embeddings": Call.EMBEDDINGS,
    "audio/speech": Call.SPEECH,
    "audio/transcriptions": Call.TRANSCRIPTION,
    "audio/translations": Call.TRANSCRIPTION,
    "messages": Call.MESSAGES,
    "messages/count_tokens": Call.COUNT,
}
_LOOKS = frozenset({"models", "key", "auth/key"})
_OF_ANTHROPIC = frozenset({Call.MESSAGES, Call.COUNT, Call.LOOK})


@dataclass(frozen=True, slots=True)
class TelegramPath:
    credential: str
    is_file: bool
    rest: str
    """The method's name, or the file's path."""
    query: str
    """The method's parameters, if they are not in the body."""


@dataclass(frozen=True, slots=True)
class ServerPath:
    credential: str
    server: str
    query: str


def read_server(target: str) -> ServerPath | None:
    """Returns the server of the entry that the request is for. A server has exactly one path, with any query."""
    path, _, query = target.partition("?")
    found = _SERVER.fullmatch(path)
    return ServerPath(found["credential"], found["server"], query) if found else None


def read_telegram(target: str) -> TelegramPath | None:
    path, _, query = target.partition("?")
    found = _TELEGRAM.fullmatch(path)
    if found is None:
        return None
    wanted = _FILE if found["file"] else _METHOD
    if not wanted.fullmatch(found["rest"]) or ".." in found["rest"]:
        return None
    return TelegramPath(found["credential"], bool(found["file"]), found["rest"], query)


def read_provider(method: str, path: str, kind: Kind) -> tuple[Call, str] | None:
    """Returns the kind of call and the path below the provider's base URL, or None if agents may not make this call."""
    if not path.startswith(_LLM):
        return None
    rest = path.removeprefix(_LLM)
    call = _POSTS.get(rest) if method == "POST" else _look(rest) if method == "GET" else None
    if call is None or (kind is Kind.ANTHROPIC and call not in _OF_ANTHROPIC):
        return None
    return call, rest


def _look(rest: str) -> Call | None:
    found = _MODEL.fullmatch(rest)
    decoded = rest.replace("%2F", "/").replace("%2f", "/")
    return Call.LOOK if rest in _LOOKS or (found and ".." not in decoded and "//" not in decoded) else None


def is_for_anthropic(path: str) -> bool:
    return path.startswith(f"{_LLM}messages")
