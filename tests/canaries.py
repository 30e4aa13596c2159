"""Credentials that must never come out again, and the nets that catch them when they do.

Every project and user in a test is created with these. Every answer, every log line and the database file of the whole
suite are searched for them.
"""

import logging
from collections.abc import Callable, Iterable, Iterator

from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse

CANARY_TELEGRAM_TOKEN = "987654321:AAcanary0telegram0bot0token0x7Qz4Lw"
CANARY_OTHER_TELEGRAM_TOKEN = "987654322:AAcanary1telegram1bot1token1k3Vn8Ry"
CANARY_API_KEY = "sk-canary0provider0api0key0p5Tj2Bd"
CANARY_OTHER_API_KEY = "sk-canary1provider1api1key1w9Hc6Xf"
CANARY_OF_SERVER = "canary0of0a0server0of0tools0r7Yk5Nb"
CANARY_PASSWORD = "canary-0-password-0-of-alice-m8Gs"

# The hints, which are the last four characters, may be shown: the nets search for what comes before them.
_NEEDLES = tuple(
    credential[-20:-4]
    for credential in (
        CANARY_TELEGRAM_TOKEN,
        CANARY_OTHER_TELEGRAM_TOKEN,
        CANARY_API_KEY,
        CANARY_OTHER_API_KEY,
        CANARY_OF_SERVER,
        CANARY_PASSWORD,
    )
)

leaks: list[str] = []
"""Where a canary was seen since the last test; a test that finds something here at its end has failed."""


def find_canary(text: str | bytes) -> str | None:
    """Returns the part of a canary that the text contains, or None."""
    haystack = text if isinstance(text, bytes) else text.encode(errors="replace")
    return next((needle for needle in _NEEDLES if needle.encode() in haystack), None)


def search(text: str | bytes, *, place: str) -> None:
    if needle := find_canary(text):
        leaks.append(f"{place} holds the credential …{needle}…")


class CanaryHandler(logging.Handler):
    """Searches records before the formatter redacts anything.

    An event loop reports unfinished work only here: tasks at its end, unretrieved errors, unclosed sessions. A
    browser's loop may report them, because its pages end in the middle of their work.
    """

    def emit(self, record: logging.LogRecord) -> None:
        line = logging.Formatter().format(record)
        if record.name == "asyncio" and record.levelno >= logging.ERROR and "playwright" not in line:
            leaks.append(line)
        search(line, place=f"A log line of {record.name}")


class CanaryMiddleware:
    """Searches status line, headers and body of every answer; streams while they pass."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        place = f"The answer to {request.method} {request.path}"
        search(f"{response.reason_phrase} {response.headers}", place=place)
        if isinstance(response, FileResponse):
            return response
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _search_stream(response.streaming_content, place)
        else:
            search(response.content, place=place)
        return response


def _search_stream(chunks: Iterable[bytes], place: str) -> Iterator[bytes]:
    end = b""
    try:
        for chunk in chunks:
            search(end + chunk, place=place)
            end = (end + chunk)[-32:]
            yield chunk
    finally:
        if callable(close := getattr(chunks, "close", None)):
            close()
