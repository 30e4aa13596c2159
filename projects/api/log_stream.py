"""Logs on the wire: as plain text, or followed as server-sent events (WHATWG HTML, section 9.2)."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime

from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from containers.errors import EngineError
from projects.api.long_requests import acquire_lease, renew
from projects.models import Project
from projects.services.logs import read_logs


class AnyAccept(BaseContentNegotiation):
    """Answers with text, no matter what the client accepts. Errors are problem documents as everywhere."""

    def select_parser(self, _request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, _request: Request, renderers: Iterable[BaseRenderer], _format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def follow(project: Project, *, tail: int | None, since: datetime | None) -> HttpResponseBase:
    """Returns a stream that ends with the container. Raises `TooManyStreamsError` or `EngineError` before it begins."""
    response = StreamingHttpResponse(
        EventStream(project, tail=tail, since=since), content_type="text/event-stream; charset=utf-8"
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


class EventStream:
    """The events for one client. Not a generator, because one that was never started does not clean up."""

    def __init__(self, project: Project, *, tail: int | None, since: datetime | None) -> None:
        with ExitStack() as stack:
            self._lease = stack.enter_context(acquire_lease(project.owner))
            self._lines = read_logs(project=project, tail=tail, since=since, follow=True)
            stack.callback(self._lines.close)
            self._first = next(self._lines, None)
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
        try:
            while line is not None:
                yield _event(line)
                if not line:
                    renew(self._lease)
                line = next(self._lines, None)
            yield b"event: end\ndata: the log has ended\n\n"
        except EngineError as error:
            yield f"event: error\ndata: {error}\n\n".encode()


def _event(line: str) -> bytes:
    """An event for the line. For an empty line, a comment that shows each side that the other is still connected."""
    return f"data: {line}\n\n".encode() if line else b": still here\n\n"
