"""The ways in which the tools of `tests.chaos.matrix` break a connection and a name server."""

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.chaos.matrix.names import answer_to
from tests.chaos.matrix.relay import GARBAGE, Relay
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    while piece := connection.recv(1000):
                        connection.sendall(piece)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay(echo: int) -> Iterator[Relay]:
    made = Relay(echo)
    yield made
    made.close()


def say(relay: Relay, text: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", relay.port), timeout=60)
    connection.sendall(text)
    return connection


@pytest.mark.parametrize(("mode", "comes"), [("half", b"hel"), ("drip", b"h")])
def test_a_broken_relay_gives_a_part_of_the_answer(relay: Relay, mode: str, comes: bytes) -> None:
    relay.break_(mode)
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == comes
        relay.heal()
        rest = connection.recv(100)
    assert rest == {"half": b"", "drip": b"ello!"}[mode]
    with say(relay, b"well") as connection:
        assert connection.recv(100) == b"well"


def test_a_relay_that_hangs_takes_connections_and_goes_on_where_it_was(relay: Relay) -> None:
    relay.break_("hang")
    with say(relay, b"hello!") as connection:
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        relay.heal()
        connection.settimeout(60)
        assert connection.recv(100) == b"hello!"


def test_a_relay_that_refuses_ends_what_is_under_way(relay: Relay) -> None:
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == b"hello!"
        relay.break_("refuse")
        assert connection.recv(100) == b""
    with pytest.raises(ConnectionRefusedError):
        say(relay, b"again")
    relay.heal()
    with say(relay, b"well") as connection:
        wait_until(lambda: connection.recv(100) == b"well")


def test_a_relay_says_something_else(relay: Relay) -> None:
    relay.break_("garbage")
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == GARBAGE
        relay.heal()
        connection.sendall(b"well")
        assert connection.recv(100) == b"well"


@pytest.mark.parametrize(
    ("mode", "finds"),
    [("", ["127.0.0.1"]), ("hang", None), ("failing", 2), ("unknown", 3), ("garbage", None)],
)
def test_a_name_server_answers_as_it_is_told(mode: str, finds: list[str] | int | None) -> None:
    """As a number where that is the code of the error."""
    question = b"ab\1\0\0\1\0\0\0\0\0\0" + b"\5redis\5chaos\4test\0" + b"\0\1\0\1"
    answer = answer_to(question, mode)
    if finds is None:
        assert not answer or answer[2:4] == b"\xff\xff"
    elif isinstance(finds, int):
        assert answer[3] & 0xF == finds
    else:
        assert [socket.inet_ntoa(answer[-4:])] == finds
        assert answer_to(question.replace(b"chaos", b"other"))[3] & 0xF == 3
