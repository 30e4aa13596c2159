"""An answer to HEAD is its head, at once, whatever the body would have been."""

import logging

import pytest

from tests.config.serving.looping import GUARD, Looping, read_all
from tests.config.serving.worker.application import LAST, Site, status_of

PATHS = ["/hello", "/large", "/stream", "/whole%20stream", "/download", "/body"]


@pytest.mark.parametrize("path", PATHS)
def test_head_is_answered_at_once_and_leaves_the_connection_open(
    server: Looping, site: Site, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = server.connect(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += client.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert (status_of(answer), body) == (200, b"")
    assert b"chunked" not in head.lower()
    client.sendall(LAST)
    assert read_all(client).endswith(b"/hello")
    assert not site.told_more
    assert not site.hold.is_set()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_head_of_a_stream_takes_no_thread_of_streams(server: Looping) -> None:
    for _ in range(20):
        client = server.connect(b"HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        client.settimeout(GUARD)
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
    assert server.worker.streams.begun == 0


def test_the_body_of_an_answer_to_head_is_closed(server: Looping, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    class Body:
        streaming = True
        has_own_thread = True

        def __iter__(self) -> "Body":
            raise AssertionError("It is never sent.")

        def close(self) -> None:
            closed.append("yes")

    def download(environ: object, start_response: object) -> Body:
        start_response("200 OK", [("Content-Type", "text/event-stream")])  # type: ignore[operator]  # WSGI
        return Body()

    monkeypatch.setattr(server.worker, "wsgi", download)
    assert status_of(server.ask(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")) == 200
    assert closed == ["yes"]
