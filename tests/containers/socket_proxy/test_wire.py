"""The proxy passes on one request for each connection, and writes it again."""

import json

import pytest

from containers.socket_proxy.constants import TALK
from containers.socket_proxy.routes import Rule
from tests.containers.socket_proxy.kept_wire import one_of_each
from tests.containers.socket_proxy.made import changed, make_bodies
from tests.containers.socket_proxy.wire import (
    GATEWAY,
    OUR_NAME,
    OUR_NETWORK,
    OUR_VOLUME,
    OURS,
    RUN,
    Wire,
    status_of,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database
V = "/v1.41"
NEXT = b"DELETE /v1.41/volumes/berth_postgres HTTP/1.1\r\nHost: x\r\n\r\n"
EXEC = {"Cmd": TALK, "WorkingDir": "/", "AttachStdin": True, "AttachStdout": True}


@pytest.mark.every_case
@pytest.mark.parametrize(
    "request_",
    [
        b"GET /info HTTP/1.1\nHost: x\n\n",
        b"GET  /v1.41/info HTTP/1.1\r\n\r\n",
        b"GET /v1.41/info HTTP/1.2\r\n\r\n",
        b"GET /v1.41/containers/a/logs?follow=1 HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
        b"GET /v1.41/containers/a/logs?follow=1 HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /v1.41/containers/a/logs?follow=1 HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
        b"get /v1.41/info HTTP/1.1\r\n\r\n",
        b"GET http://x/v1.41/info HTTP/1.1\r\n\r\n",
        b"GET /v1.41/info\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nX : y\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nX: y\r\n z\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nX: a\nY: b\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nX: \0\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nA: 1\r\na: 2\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nX: " + b"x" * 20000 + b"\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nContent-Length: +0\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nContent-Length: 00\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        b"PUT /v1.41/containers/a/archive HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"PUT /v1.41/containers/a/archive HTTP/1.1\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
        b"PUT /v1.41/containers/a/archive HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
        b"GET /v1.41/info?a=1 HTTP/1.1\r\n\r\n",
        b"GET /v1.41/info HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
        b"GET /v1.41/x HTTP/1.1\r\n\r\n",
        b"GET /v1.41/containers/../info HTTP/1.1\r\n\r\n",
        b"GET /v1.41//info HTTP/1.1\r\n\r\n",
        b"GET /v1.41/%69nfo HTTP/1.1\r\n\r\n",
        b"GET /v1.41/info# HTTP/1.1\r\n\r\n",
        b"GET /v1.41/info;x HTTP/1.1\r\n\r\n",
    ],
)  # fmt: skip
def test_an_ambiguous_request_is_refused_and_never_forwarded(wire: Wire, request_: bytes) -> None:
    assert 400 <= status_of(wire.send(request_ + NEXT)) < 500
    assert wire.came == []


def test_bytes_after_a_request_are_dropped(wire: Wire) -> None:
    wire.send(b"GET /v1.41/_ping HTTP/1.1\r\nHost: evil\r\nX-Registry-Auth: x\r\n\r\n" + NEXT)
    wire.settle()
    assert wire.came == [b"GET /v1.41/_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n"]


def test_a_log_alone_may_come_without_chunks(wire: Wire) -> None:
    """`report_streams` requests it like this."""
    for name, (rule, request) in one_of_each().items():
        plain = request.replace(b"HTTP/1.1\r\nContent-Type: application/json", b"HTTP/1.0", 1)
        if rule is not Rule.LOGS:
            assert status_of(wire.send(plain)) == 400, name
    assert wire.came == []
    with wire.connect() as stream:
        stream.sendall(f"GET {V}/containers/{OUR_NAME}/logs?follow=1 HTTP/1.0\r\nHost: x\r\n\r\n".encode())
        assert b"200" in stream.recv(100)
    head = f"GET {V}/containers/{OURS}/logs?follow=1 HTTP/1.0\r\nHost: docker\r\nConnection: close\r\n\r\n"
    assert wire.came == [head.encode()]


@pytest.mark.parametrize("body", [b"5\r\nhello\r\n0\r\n\r\n", b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"])
def test_chunks_are_reframed(wire: Wire, body: bytes) -> None:
    head = f"PUT {V}/containers/{OURS}/archive?path=%2Fdata HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert status_of(wire.send(head.encode() + body)) == 200
    head, _, came = wire.came[0].decode().partition("\r\n\r\n")
    assert came == body.decode()
    assert "Transfer-Encoding: chunked" in head
    assert "Content-Length" not in head


@pytest.mark.parametrize(
    "body",
    [b"5;x=y\r\nhello\r\n", b"5\nhello\n", b" 5\r\nhello\r\n", b"3\r\nhello\r\n", b"0\r\nX: y\r\n\r\n", b"-1\r\n"],
)
def test_chunks_that_are_not_whole_end_the_request(wire: Wire, body: bytes) -> None:
    head = f"PUT {V}/containers/{OURS}/archive?path=%2Fdata HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert status_of(wire.send(head.encode() + body + b"0\r\n\r\n" + NEXT)) in {0, 400}
    assert not any(b"DELETE" in came or came.endswith(b"\r\n0\r\n\r\n") for came in wire.came)


@pytest.mark.parametrize(
    "body", [b'{"Labels":{},"Labels":{}}', b'{"a":NaN}', b"\xff", b"[" * 100_000, b"{", b"", b'{"a":1}x']
)
def test_a_body_with_duplicate_keys_is_refused(wire: Wire, body: bytes) -> None:
    head = (
        f"POST {V}/containers/create HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    assert status_of(wire.send(head.encode() + body)) in {400, 403}
    assert wire.came == []


def test_the_checked_body_is_the_one_forwarded(wire: Wire) -> None:
    body = changed(make_bodies()["agent"], "HostConfig.NetworkMode", OUR_NETWORK)
    body["HostConfig"]["Mounts"] = [{**mount, "Source": OUR_VOLUME} for mount in body["HostConfig"]["Mounts"]]
    assert wire.ask("POST", f"{V}/containers/create?name=berth-1", body) == 200
    assert json.loads(wire.came[0].partition(b"\r\n\r\n")[2]) == body


def test_an_exec_is_started_once_and_its_streams_go_both_ways(wire: Wire) -> None:
    assert wire.ask("POST", f"{V}/containers/{GATEWAY}/exec", EXEC) == 200
    body = b'{"Detach": false, "Tty": false}'
    upgrade = "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    start = f"POST {V}/exec/{RUN}/start HTTP/1.1\r\nContent-Length: {len(body)}\r\n{upgrade}"
    assert wire.send(start.encode() + body + b"a line\n").endswith(b"\r\n\r\na line\n")
    assert status_of(wire.send(start.encode() + body)) == 404


def test_a_client_that_disconnects_ends_its_stream(wire: Wire) -> None:
    with wire.connect() as stream:
        stream.sendall(f"GET {V}/containers/{OURS}/logs?follow=1 HTTP/1.1\r\n\r\n".encode())
        assert b"200" in stream.recv(100)
        assert wire.running == 1
    wire.settle()


def test_the_number_of_connections_is_limited(wire: Wire) -> None:
    streams = [wire.connect() for _ in range(21)]
    try:
        assert status_of(streams[-1].recv(100)) == 503
    finally:
        for stream in streams:
            stream.close()
    wait_until(lambda: wire.ask("GET", f"{V}/_ping") == 200)
