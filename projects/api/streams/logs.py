"""Logs in the API: as plain text, or followed as server-sent events (WHATWG HTML, section 9.2)."""

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
"""Seconds after which a stream renews its lease, which lasts for a minute. Not more often, because that is a write."""

_SILENCE = b": still here\n\n"
"""A comment that shows each side that the other is still connected."""


class Revalidates(Protocol):
    """What a stream regularly checks: whether the client's token or session is still valid."""

    @property
    def is_due(self) -> bool: ...

    def check_token(self) -> None:
        """Raises `AuthenticationFailed`."""


class AnyAccept(BaseContentNegotiation):
    """Answers with text, no matter what the client accepts. Errors are problem documents, as everywhere."""

    def select_parser(self, _request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, _request: Request, renderers: Iterable[BaseRenderer], _format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def follow(project: Project, lines: Generator[str, None, None], *, revalidation: Revalidation) -> HttpResponseBase:
    """Returns a stream that ends when the lines, the token or the project end.

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
    """The events for one client. It is not a generator, because a generator that never started does not clean up.

    `write` turns a line into an event; an empty line means that there is nothing new. `check` raises if the stream must
    end although its token is valid. It takes a database connection only while it checks the token again.
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
            self._first = next(self._lines, None)  # opens the log without waiting for a line of the agent
            if revalidation.is_due:
                revalidation.check_token()  # if it raises, the resources are released
            self._resources = stack.pop_all()
        self._events = self._make_events()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._events)

    def close(self) -> None:
        """Returns the lease and the connection to the engine. Django calls it at the end of every request."""
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
        """Raises if the stream must end because its token or its project has ended."""
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
