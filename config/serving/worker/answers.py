"""Answers a request in a thread, with gunicorn's parser and responses."""

from contextvars import copy_context
from functools import partial
from typing import Any

from gunicorn.http import get_parser
from gunicorn.http.errors import (
    ExpectationFailed,
    InvalidHeader,
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    NoMoreData,
    ParseException,
    UnsupportedTransferCoding,
)
from gunicorn.http.wsgi import FileWrapper, create

from config.draining import DRAIN
from config.http.middleware import ARRIVED_AT, begin_request
from config.outages import OVERLOADED, log_outage
from config.reserve import is_starvation
from config.serving.worker.connections import Connection
from config.serving.worker.context import WorkerContext
from config.serving.worker.event_loop import READ
from config.serving.worker.refusals import refusal

FILE_PIECE = 256 * 1024
_STATUSES: dict[type[Exception], int] = {
    LimitRequestLine: 414,
    ExpectationFailed: 417,
    LimitRequestHeaders: 431,
    UnsupportedTransferCoding: 501,
}
_OUR_FAULTS = (InvalidResponseHeader, InvalidResponseHeaderName)


def respond(worker: WorkerContext, connection: Connection, data: bytes, arrived_at: float) -> None:
    """Runs the application on a whole request, and reports to the worker's loop when the answer is complete.

    `arrived_at` is on the monotonic clock.
    """
    request = response = None
    try:
        request = next(get_parser(worker.known, [data], connection.address))
        _check_head(request.version, request.headers)
        request._expected_100_continue = False  # noqa: SLF001 - the loop has said it already, where it was waited for
        response, environ = create(request, connection, connection.address, connection.server, worker.known)
        environ |= {"wsgi.multithread": True, "wsgi.file_wrapper": _in_large_pieces, ARRIVED_AT: arrived_at}
        if connection.framing.is_refused or not worker.alive or DRAIN.has_begun or not worker.known.keepalive:
            response.force_close()
        body = worker.wsgi(environ, response.start_response)
    except Exception as error:  # noqa: BLE001 - the boundary of the thread
        try:
            _fail(worker, connection, response, error)
        finally:
            _finish(worker, connection, is_reusable=False)
        return
    send = partial(_send, worker, connection, response, body)
    if _takes_long(response, body):
        if worker.streams.take(partial(copy_context().run, send)):
            worker.loop.call_soon(partial(worker.clients.watch_end, connection))
        else:
            _give_up(worker, connection, body)
    else:
        connection.hold()
        send()


def _check_head(version: tuple[int, int], headers: list[tuple[str, str]]) -> None:
    """Raises an error for what gunicorn accepts although no body can be read from it, or RFC 9112 (3.2) refuses it."""
    codings = [value for name, value in headers if name == "TRANSFER-ENCODING"]
    if codings and [value.strip().lower() for value in codings] != ["chunked"]:
        raise UnsupportedTransferCoding(codings[0])
    hosts = sum(name == "HOST" for name, _ in headers)
    if hosts > 1 or (not hosts and version >= (1, 1)):
        raise InvalidHeader("HOST")


def _send(worker: WorkerContext, connection: Connection, response: Any, body: Any) -> None:
    is_reusable = False
    try:
        try:
            for piece in () if _is_head(response) else body:
                response.write(piece)
                if (connection.sends_no_more or not worker.alive) and _is_event_stream(response):
                    break  # it ends like a complete one, and a client that is still there follows again elsewhere
            response.close()
            connection.release()
            is_reusable = not response.should_close()
        finally:
            if hasattr(body, "close"):
                body.close()
    except Exception as error:  # noqa: BLE001 - the boundary of the thread
        is_reusable = False
        connection.drop()
        _fail(worker, connection, response, error)
    finally:
        _finish(worker, connection, is_reusable=is_reusable)


def _give_up(worker: WorkerContext, connection: Connection, body: Any) -> None:
    """Closes an answer of which nothing was sent, because no thread was available for it."""
    try:
        if hasattr(body, "close"):
            body.close()
        _send_refusal(connection, 503)
    finally:
        _finish(worker, connection, is_reusable=False)


def _finish(worker: WorkerContext, connection: Connection, *, is_reusable: bool) -> None:
    """Reports to the loop, and wakes it only if something waits for that. Most clients send their next request after
    this answer, and that wakes it, too.
    """
    worker.loop.call_next(partial(worker.clients.finish, connection, is_reusable=is_reusable))
    # Checked only now: a loop that changes it later finds the call in the same turn.
    is_waited_for = connection.received or connection.unsent or connection.interest != READ
    if is_waited_for or not (is_reusable and worker.alive):
        worker.loop.wake()


def _fail(worker: WorkerContext, connection: Connection, response: Any, error: Exception) -> None:
    is_untold = response is None or not response.headers_sent
    if isinstance(error, NoMoreData) and is_untold:
        _send_refusal(connection, 400)
    elif is_untold and not isinstance(error, ParseException) and is_starvation(error):
        log_outage(OVERLOADED, error)
        _send_refusal(connection, 503, request_id=begin_request())
    elif isinstance(error, OSError):
        worker.log.debug("The client has left, or is left: %s", error)
    elif not is_untold:
        worker.log.error("An answer broke off.", exc_info=error)
    else:
        _explain(worker, connection, error, is_for_us=response is not None)


def _explain(worker: WorkerContext, connection: Connection, error: Exception, *, is_for_us: bool) -> None:
    """Refuses what the parser refuses, and answers 500 to errors outside all error handlers.

    The log names the kind of the parser's error and not its text, which quotes the request: a header may be a
    credential. gunicorn's own answers would quote it, too, and lack the headers that each answer of ours has.
    """
    request_id = begin_request()
    if (isinstance(error, ParseException) and not isinstance(error, _OUR_FAULTS)) or not is_for_us:
        status = next((_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES), 400)
        worker.log.warning(
            "Refused something that is not a request, from %s: %s", _host(connection), type(error).__name__
        )
    else:
        status = 500
        worker.log.error("A request failed outside the error handlers.", exc_info=error)
    _send_refusal(connection, status, request_id=request_id)


def _host(connection: Connection) -> str:
    """Returns the address of the client. A Unix socket has none."""
    return str(connection.address[0]) if isinstance(connection.address, tuple) else "a socket"


def _send_refusal(connection: Connection, status: int, *, request_id: str = "") -> None:
    try:
        connection.sendall(refusal(status, request_id=request_id))
    except OSError:
        return


def _takes_long(response: Any, body: Any) -> bool:
    """An answer declares itself as long-running, no matter which content type. An answer that is complete does not."""
    may_last = getattr(body, "streaming", True) and not _is_head(response)
    return may_last and (_is_event_stream(response) or getattr(body, "has_own_thread", False))


def _is_head(response: Any) -> bool:
    """Returns whether the client gets only the head. A body that is never sent must not be made: it may have no end."""
    return bool(response.req.method == "HEAD")


def _is_event_stream(response: Any) -> bool:
    return any(
        name.lower() == "content-type" and value.startswith("text/event-stream") for name, value in response.headers
    )


def _in_large_pieces(file: Any, _size: int = 0) -> Any:
    """WSGI's file wrapper. Every piece is one write, so pieces are large."""
    return FileWrapper(file, FILE_PIECE)
