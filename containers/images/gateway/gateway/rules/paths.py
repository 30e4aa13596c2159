"""Reads from its path what a request asks for. Paths are not decoded, so that the upstream reads them the same way.

The only escapes allowed are those in a model's name (clients write models/openai%2Fgpt-5), that of the colon in a bot's
token (python-telegram-bot escapes the paths of files), and those in a file's path, whose ending is that of the sender's
file.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from urllib.parse import unquote

from gateway.entries.entry import Kind

_TELEGRAM = re.compile(
    r"/tg/(?P<file>file/)?bot\d{1,20}(?::|%3[Aa])(?P<credential>[\w-]{1,256})/(?P<rest>[^?]{1,512})", re.ASCII
)
"""Any number of a bot is accepted: the agent's token keeps the old one when its owner changes the bot."""
_SERVER = re.compile(r"/out/(?P<credential>[\w-]{1,256})/(?P<server>[0-9a-f]{16})", re.ASCII)
_METHOD = re.compile(r"[A-Za-z]{1,64}")
_FILE = re.compile(r"(?:[\w.~!$&'()*+,;=@-]|/|%[0-9A-Fa-f]{2})+", re.ASCII)
"""What RFC 3986 allows in a path."""
_DECODED_NAME = re.compile(r"(?!\.)[^/:\\%?#\x00-\x1f\x7f-\x9f\u2028\u2029\ufffd]+")
"""A name in a file's path, decoded. Nothing in it can become a separator or a step up, even if it is decoded twice."""
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
    is_known = _is_file if found["file"] else _METHOD.fullmatch
    if not is_known(found["rest"]):
        return None
    return TelegramPath(found["credential"], bool(found["file"]), found["rest"], query)


def _is_file(path: str) -> bool:
    if not _FILE.fullmatch(path) or ".." in unquote(path):
        return False
    names = (unquote(name, errors="strict") for name in path.split("/"))
    try:
        return all(_DECODED_NAME.fullmatch(name) for name in names)
    except UnicodeDecodeError:
        return False


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
