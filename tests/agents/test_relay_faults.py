"""What the relay does if the child, Telegram or the provider closes the connection in the middle of an answer."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import pytest

pytestmark = pytest.mark.one_database

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CUT = [
    pytest.param(OK + b'Content-Length: 100\r\n\r\n{"half', id="length"),
    pytest.param(OK + b'Transfer-Encoding: chunked\r\n\r\n6\r\n{"half\r\n', id="chunked"),
]


class Upstream:
    """Answers each connection with the same bytes and closes it. `asked` has the requests."""

    def __init__(self, said: bytes) -> None:
        self.asked: list[bytes] = []
        self._said = said
        self.may_answer = Event()
        self.may_answer.set()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                head = b"".join(iter(stream.readline, b"\r\n"))
                length = next((int(line[15:]) for line in head.splitlines() if line.startswith(b"Content-Length:")), 0)
                self.asked.append(head + b"\r\n" + stream.read(length))
                self.may_answer.wait(60)
                with suppress(OSError):
                    connection.sendall(self._said)


class Notes:
    """A status that records all reports about the provider."""

    def __init__(self) -> None:
        self.provider_notes: list[Any] = []

    def note_provider(self, found: Any) -> None:
        self.provider_notes.append(found)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def relay(image: Path, tmp_path: Path, notes: Notes) -> Iterator[Callable[[bytes], tuple[Any, Upstream, Any]]]:
    """Returns a relay in front of an upstream with this answer, and its Telegram side."""
    from berth_agent.providers import Provider
    from berth_agent.relay.config import Config
    from berth_agent.relay.provider import ProviderEndpoint
    from berth_agent.relay.server import Relay
    from berth_agent.relay.telegram import TelegramEndpoint

    opened: list[Upstream] = []

    def make(said: bytes) -> tuple[Any, Upstream, Any]:
        opened.append(Upstream(said))
        bases: dict[str, Any] = {"api_base": f"{opened[-1].url}/v1", "telegram_base": opened[-1].url}
        seconds: dict[str, Any] = dict.fromkeys(
            ("watch_seconds", "conflict_seconds", "unreachable_seconds", "pause_seconds"), 60.0
        )
        people: dict[str, Any] = {"instructions": "", "allowed_users": frozenset("*"), "settings": {}}
        who: dict[str, Any] = {"token": "7:real", "key": "sk-real", "provider": Provider.OPENAI, "model": "m"}
        config = Config(**who, **bases, **people, data=tmp_path, run=tmp_path, **seconds)
        telegram = TelegramEndpoint(config, None, lambda _: None)  # type: ignore[arg-type]  # no poll is made
        provider = ProviderEndpoint(config, notes)  # type: ignore[arg-type]  # as much of a status as it uses
        found = Relay({"telegram": telegram.serve, "openai": provider.serve})
        found.path_of_bot = f"/telegram/bot{config.child_token}"  # type: ignore[attr-defined]  # for the tests
        return found, opened[-1], telegram

    yield make
    for each in opened:
        each.close()


def ask(relay: Any, path: str, body: bytes = b"{}", method: str = "POST", **headers: str) -> bytes:
    connection = HTTPConnection("127.0.0.1", relay.server_port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize("said", CUT)
@pytest.mark.parametrize("path", ["/openai/v1/chat/completions", "sendMessage"])
def test_an_answer_that_breaks_off_is_not_whole_and_no_second_one_follows(
    relay: Any, notes: Notes, said: bytes, path: str
) -> None:
    behind, _, _ = relay(said)
    with pytest.raises(IncompleteRead) as caught:
        ask(behind, path if path.startswith("/") else f"{behind.path_of_bot}/{path}")
    assert b"HTTP/1.1" not in caught.value.partial
    if path.startswith("/"):
        assert notes.provider_notes[0] is None
        assert notes.provider_notes[-1].code == "provider_down"


def test_a_stream_without_a_length_arrives_whole(relay: Any) -> None:
    behind, _, _ = relay(OK + b'\r\n{"all": 1}')
    assert json.loads(ask(behind, "/openai/v1/chat/completions")) == {"all": 1}


def test_a_child_that_disconnects_is_no_fault_of_the_provider(relay: Any, notes: Notes) -> None:
    from berth_agent.relay.exchange import ChildGoneError

    behind, upstream, _ = relay(OK + b"Content-Length: 50000000\r\n\r\n" + b"x" * 50_000_000)
    gone, serve = Event(), behind.endpoints["openai"]

    def noting(exchange: Any) -> None:
        try:
            serve(exchange)
        except ChildGoneError:
            gone.set()
            raise

    behind.endpoints["openai"] = noting
    upstream.may_answer.clear()
    with socket.create_connection(("127.0.0.1", behind.server_port)) as child:
        child.sendall(b"POST /openai/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
    upstream.may_answer.set()
    assert gone.wait(60)
    assert notes.provider_notes == [None]


@pytest.mark.parametrize("method", ["deleteWebhook", "deletewebhook?drop_pending_updates=true", "delete%57ebhook"])
def test_pending_updates_at_telegram_are_never_dropped(relay: Any, method: str) -> None:
    behind, upstream, _ = relay(OK + b"Content-Length: 2\r\n\r\n{}")
    wish = b'{"drop_pending_updates": true}'
    ask(behind, f"{behind.path_of_bot}/{method}", wish, **{"Content-Type": "application/json"})
    [asked] = upstream.asked
    head, _, body = asked.partition(b"\r\n\r\n")
    assert body == b"drop_pending_updates=false"
    assert b"Content-Type: application/x-www-form-urlencoded" in head
    assert b"?" not in head.splitlines()[0]


def test_an_unresponsive_telegram_delays_no_stop(relay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import berth_agent.relay.telegram as module

    asked, healed, over = Event(), Event(), Event()

    @contextmanager
    def ask_for_long(*_: Any, **__: Any) -> Iterator[None]:
        asked.set()
        healed.wait(60)
        over.set()
        yield

    _, _, telegram = relay(b"")
    monkeypatch.setattr(module, "ask", ask_for_long)
    monkeypatch.setattr(module, "CONFIRM_SECONDS", 0.05)
    telegram.confirm()
    assert not over.is_set()
    healed.set()
    assert asked.wait(60)
    assert over.wait(60)


def test_the_end_of_a_child_is_noticed_although_others_hold_its_output_open(image: Path, tmp_path: Path) -> None:
    from berth_agent.relay.child import Child, Program

    ended: SimpleQueue[int] = SimpleQueue()
    command = ["sh", "-c", "echo started; sleep 60 & exit 3"]
    child = Child(Program("child", command, {"PATH": os.environ["PATH"]}, tmp_path), ended.put)
    try:
        assert ended.get(timeout=30) == 3
    finally:
        child.stop(1)
        child._log.join(60)
