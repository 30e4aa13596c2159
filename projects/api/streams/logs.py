"""Logs on the wire: as plain text, or followed as server-sent events (WHATWG HTML, section 9.2)."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Protocol

from django.db.utils import Error
from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from accounts.models import User
from containers.errors import EngineError
from projects.api.streams.long_requests import acquire_lease, renew
from projects.api.streams.revalidation import Revalidation, release_connection
from projects.errors import ProjectError
from projects.models import Project
from projects.services.bulkheads import STREAMS

RENEWED_EVERY = 10.0
"""Seconds after which a stream renews its lease, which lasts for a minute: that is a write."""

_SILENCE = b": still here\n\n"
"""A comment, which shows each side that the other is still connected."""


class Revalidates(Protocol):
    """What a stream asks now and then: whether who follows is still let in, by a token or by a session."""

    @property
    def is_due(self) -> bool: ...

    def check_token(self) -> None:
        """Raises `AuthenticationFailed`."""


class AnyAccept(BaseContentNegotiation):
    """Answers with text, no matter what the client accepts. Errors are problem documents as everywhere."""

    def select_parser(self, _request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, _request: Request, renderers: Iterable[BaseRenderer], _format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def follow(project: Project, lines: Generator[str, None, None], *, revalidation: Revalidation) -> HttpResponseBase:
    """Returns a stream that ends with the lines, the token or the project.

    Raises `TooManyStreamsError`, `EngineError` or `AuthenticationFailed` before it begins.
    """
    checks = partial(revalidation.check_project, project)
    return send_stream(EventStream(project.owner, lines, revalidation=revalidation, write=_event, check=checks))


def send_stream(events: "EventStream") -> HttpResponseBase:
    response = StreamingHttpResponse(events, content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


class EventStream:
    """The events for one client. Not a generator, because one that was never started does not clean up.

    `write` makes an event of a line; an empty line is a moment in which there is nothing to tell. `check` raises where
    the stream has to end although its token has not.

    It holds no database connection: it takes one for a moment, when it checks the token again.
    """

    def __init__(
        self,
        owner: User,
        lines: Generator[str, None, None],
        *,
        revalidation: Revalidates,
        write: Callable[[str], bytes],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._revalidation = revalidation
        self._write, self._check_more = write, check
        with ExitStack() as stack:
            self._lease = stack.enter_context(acquire_lease(owner, STREAMS))
            self._renew_at = time.monotonic() + RENEWED_EVERY
            self._lines = lines
            stack.callback(self._lines.close)
            self._first = next(self._lines, None)  # opens the log, and waits for no line of the agent
            if revalidation.is_due:
                revalidation.check_token()  # raises, and gives back what is held
            self._resources = stack.pop_all()
        self._events = self._make_events()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._events)

    def close(self) -> None:
        """Gives back the lease and the connection to the engine. Django calls it at the end of every request."""
        self._events.close()
        self._resources.close()

    def _make_events(self) -> Generator[bytes, None, None]:
        line = self._first
        release_connection()
        try:
            if line == "":
                line = next(self._lines, None)
            while line is not None:
                self._check()
                yield self._write(line) if line else _SILENCE
                line = next(self._lines, None)
            yield b"event: end\ndata: the log has ended\n\n"
        except (EngineError, ProjectError, AuthenticationFailed) as error:
            yield f"event: error\ndata: {error}\n\n".encode()
        except Error:
            yield b"event: error\ndata: The database does not answer, so the token cannot be checked. Follow again.\n\n"

    def _check(self) -> None:
        """Raises where the stream has to end, because its token or its project has."""
        if not self._revalidation.is_due:
            return
        self._revalidation.check_token()
        self._check_more()
        if time.monotonic() >= self._renew_at:
            renew(self._lease)
            self._renew_at = time.monotonic() + RENEWED_EVERY
        release_connection()


def _event(line: str) -> bytes:
    return f"data: {line}\n\n".encode()
