"""A message is sent again after a failure only if it cannot have arrived."""

import asyncio
import ssl
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from telegram.error import NetworkError, TimedOut

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("cause", "calls"), [(httpx.ConnectTimeout, 2), (httpx.PoolTimeout, 2), (httpx.ReadTimeout, 1), (None, 1)]
)
def test_a_message_is_sent_again_if_its_request_was_not_sent(
    monkeypatch: pytest.MonkeyPatch, cause: Any, calls: int
) -> None:
    from assistant.formatting.formatted import Formatted
    from assistant.storage.memory import Place
    from assistant.telegram import sending

    sent: list[str] = []
    pause_after = sending._pause_after

    async def send(_: Any, __: Any, part: Any, ___: Any) -> int:
        sent.append(part.text)
        if len(sent) > 1:
            return 7
        raise TimedOut from (cause("slow") if cause else None)

    monkeypatch.setattr(sending, "send_once", send)
    monkeypatch.setattr(sending, "_pause_after", lambda *a, **kw: pause_after(*a, **kw) and 0.001)
    bot: Any = None
    with_answer = sending.send_parts(bot, Place(1), [Formatted("The answer")])
    assert asyncio.run(with_answer) is (calls == 2)
    assert len(sent) == calls


@pytest.mark.parametrize("seconds", [200, 400])
def test_an_undeliverable_message_is_kept_for_a_limited_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """A gateway that is killed together with its engine is back after at most a minute."""
    from assistant.formatting.formatted import Formatted
    from assistant.storage.memory import Place
    from assistant.telegram import sending

    now = 0.0

    async def sleep(pause: float) -> None:
        nonlocal now
        now += pause

    async def send(*_: Any) -> int:
        if now < seconds:
            raise NetworkError("httpx.ConnectError")
        return 7

    monkeypatch.setattr(sending, "send_once", send)
    monkeypatch.setattr(sending, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(sending, "asyncio", SimpleNamespace(sleep=sleep))
    bot: Any = None
    assert asyncio.run(sending.send_parts(bot, Place(1), [Formatted("The answer")])) is (seconds < sending.PERSISTS)
    assert now <= max(seconds + sending.MOST_PAUSE, sending.PERSISTS)


class Server(asyncio.Protocol):
    """Answers every request with an empty result."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * data.count(b"\r\n\r\n"))


def test_requests_cancelled_at_any_moment_free_their_slots(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", logger="httpcore")  # it logs each step
    from assistant.telegram.requests import TelegramRequest

    async def test() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1")
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for steps in range(32):
            request = TelegramRequest(2, pool_timeout=10, httpx_kwargs={"verify": no_tls})
            tasks = [asyncio.create_task(request.do_request(url, "GET")) for _ in range(3)]
            for _ in range(steps):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            left = request._client._transport._pool.connections  # type: ignore[attr-defined]  # the subject of this test
            assert all(each.is_idle() for each in left), (steps, left)
            assert (await request.do_request(url, "GET"))[0] == 200
            await request.shutdown()
        server.close()

    asyncio.run(test())
