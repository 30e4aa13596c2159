"""Malformed requests are refused without being quoted, and are logged under an id of their own."""

import json
import logging

import pytest

from config.http.middleware import current_request_id
from tests.config.serving.looping import Looping, read_all
from tests.config.serving.worker.application import status_of


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", 413),
        (b"GET /x HTTP/1.1\r\nA: " + b"x" * 40_000, 431),
        (b"GET / HTTP/1.1\n\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", 400),
    ],
)
def test_malformed_requests_are_refused(server: Looping, request_: bytes, status: int) -> None:
    assert status_of(server.ask(request_)) == status


SECRET = b"berth-session=7h3s3cr3tofacookie"
UNREADABLE: dict[str, tuple[bytes, int]] = {
    "a header without a colon": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie " + SECRET + b"\r\n\r\n", 400),
    "a header with a blank": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie : " + SECRET + b"\r\n\r\n", 400),
    "a header with a NUL": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: \x00" + SECRET + b"\r\n\r\n", 400),
    "a folded header": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: a\r\n " + SECRET + b"\r\n\r\n", 400),
    "an unknown version": (b"GET / HTTP/1.1 " + SECRET + b"\r\n\r\n", 400),
    "no method": (b"<script>" + SECRET + b" / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "no request line": (SECRET + b"\r\n\r\n", 400),
    "a long address": (b"GET /" + SECRET + b"a" * 5_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "two hundred headers": (
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(200)) + b"\r\n",
        431,
    ),
    "a large head": (b"GET / HTTP/1.1\r\nA: " + b"a" * 40_000, 431),
    "an unknown coding": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip, chunked\r\n\r\n0\r\n\r\n", 501),
    "an unknown coding without a body": (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n", 501),
    "a packed body in chunks": (
        b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    "two codings": (
        b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
    "the same host twice": (b"GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", 400),
    "no coding": (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \r\n\r\n", 501),
    "a chunk of no size": (
        b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n\r\n0\r\n\r\n",
        400,
    ),
    "a chunk of gigabytes": (
        b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\na\r\n0\r\n\r\n",
        400,
    ),
    "a shorter chunk than it says": (
        b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n000000005\r\na\r\n0\r\n\r\n",
        400,
    ),
    "an error of the application": (b"GET /broken HTTP/1.1\r\nHost: x\r\nCookie: " + SECRET + b"\r\n\r\n", 500),
    "a header that cannot be sent": (b"GET /odd HTTP/1.1\r\nHost: x\r\nCookie: " + SECRET + b"\r\n\r\n", 500),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_refusal_is_a_problem_that_quotes_nothing(
    server: Looping, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """gunicorn's own pages and log quote the request, may be cached, and can be mistaken for another content type."""
    caplog.set_level(logging.DEBUG)
    request, status = UNREADABLE[name]
    answer = server.ask(request)
    assert status_of(answer) == status
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = {line.partition(b":")[0].lower(): line.partition(b":")[2].strip() for line in head.split(b"\r\n")[1:]}
    assert headers[b"content-type"] == b"application/problem+json"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cache-control"] == b"no-store"
    problem = json.loads(body)
    assert (problem["status"], problem["request_id"]) == (status, headers[b"x-request-id"].decode())
    assert SECRET.split(b"=")[1] not in answer
    assert SECRET.decode().split("=")[1] not in caplog.text


def test_a_request_of_http_1_0_needs_no_host(server: Looping) -> None:
    assert status_of(server.ask(b"GET / HTTP/1.0\r\n\r\n")) == 200


def test_a_refusal_is_logged_with_a_separate_id(server: Looping, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads serve one request after the other, and the log must not name the previous one."""
    told: list[str] = []
    monkeypatch.setattr(server.worker.log, "warning", lambda *_: told.append(current_request_id()))
    for _ in range(4):  # more than there are threads
        answer = server.ask(b"nonsense\r\n\r\n")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["request_id"] == told[-1]
    assert len(set(told)) == 4


def test_a_body_that_is_too_large_is_refused_while_it_arrives(server: Looping) -> None:
    """The client keeps sending and still sees the answer, because the connection is not reset."""
    client = server.connect(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n")
    client.sendall(b"x" * 4_000_000)
    assert status_of(read_all(client)) == 200  # the application refuses it, because it knows the length
