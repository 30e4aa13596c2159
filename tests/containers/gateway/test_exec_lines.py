"""Connections to the gateway that are kept open:
one program answers many questions, and none is lost with a program."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from containers.docker_api import exec_lines
from containers.docker_api.exec_lines import MOST, ExecLines
from containers.errors import EngineUnavailableError
from tests.containers.gateway.test_exec_transport import UPGRADED, frame

pytestmark = pytest.mark.one_database


class Programs:
    """A connection to an engine whose execs answer each line with their own number and the line.

    `lives` is how many lines a program answers before it ends, and whether it reads one more.
    """

    def __init__(self) -> None:
        self.started: list[str] = []
        self.lives: dict[int, tuple[int, bool]] = {}
        self.is_deaf = False
        self.barrier: threading.Barrier | None = None
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._numbers = count(1)

    api_version = "1.41"

    @contextmanager
    def call(self, seconds: float, *, about_one: bool) -> Iterator[Any]:
        assert about_one
        assert seconds > 0
        yield self

    def exec_create(self, container: str, command: list[str], **_: bool) -> dict[str, str]:
        self.started.append(container)
        return {"Id": f"{container}-{len(self.started)}"}

    def open_socket(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self._sockets.append(theirs)
        thread = threading.Thread(target=self._serve, args=(theirs, next(self._numbers)))
        self._threads.append(thread)
        thread.start()
        return ours

    def _serve(self, stream: socket.socket, number: int) -> None:
        most, reads_on = self.lives.get(number, (1000, True))
        with stream, stream.makefile("rb") as lines:
            while lines.readline() != b"\r\n":
                pass
            lines.read(len('{"Detach": false, "Tty": false}'))
            stream.sendall(UPGRADED)
            for _ in range(most):
                if not (line := lines.readline()):
                    return
                if self.barrier:
                    self.barrier.wait(60)
                if not self.is_deaf:
                    stream.sendall(frame(b"%d " % number + line))
            if reads_on:
                lines.readline()

    def end(self) -> None:
        for each in self._sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(60)


@pytest.fixture
def programs() -> Iterator[Programs]:
    programs = Programs()
    yield programs
    programs.end()


@pytest.fixture
def lines(programs: Programs) -> Iterator[ExecLines]:
    lines = ExecLines(programs)  # type: ignore[arg-type]  # what it uses of a connection
    yield lines
    for kept in lines._kept():
        kept.close()


def ask(lines: ExecLines, container: str = "c", within: float = 60) -> bytes:
    return lines.exchange(container, b"hello\n", until=time.monotonic() + within)


def test_one_program_answers_several_requests_in_turn(programs: Programs, lines: ExecLines) -> None:
    assert [ask(lines) for _ in range(5)] == [b"1 hello\n"] * 5
    assert programs.started == ["c"]


def test_a_connection_opened_before_is_used(programs: Programs, lines: ExecLines) -> None:
    for _ in range(2):
        lines.prepare("c", until=time.monotonic() + 60)
    assert ask(lines) == b"1 hello\n"
    assert programs.started == ["c"]


@pytest.mark.parametrize("reads_on", [True, False], ids=["at the question", "before the question"])
def test_an_ended_connection_is_replaced_transparently(programs: Programs, lines: ExecLines, reads_on: bool) -> None:
    programs.lives[1] = (1, reads_on)
    assert ask(lines) == b"1 hello\n"
    assert ask(lines) == b"2 hello\n"


def test_a_connection_that_ends_without_any_answer_is_an_error(programs: Programs, lines: ExecLines) -> None:
    programs.lives[1] = (0, True)
    with pytest.raises(EngineUnavailableError):
        ask(lines)
    assert programs.started == ["c"]


def test_a_late_answer_is_never_given_to_the_next_request(programs: Programs, lines: ExecLines) -> None:
    programs.is_deaf = True
    with pytest.raises(EngineUnavailableError):
        ask(lines, within=0.05)
    programs.is_deaf = False
    assert ask(lines) == b"2 hello\n"


def test_another_container_has_separate_connections(programs: Programs, lines: ExecLines) -> None:
    assert [ask(lines, each) for each in ("c", "d")] == [b"1 hello\n", b"2 hello\n"]
    assert programs.started == ["c", "d"]


def test_a_connection_idle_for_long_is_not_reused(
    programs: Programs, lines: ExecLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(lines)
    monkeypatch.setattr(exec_lines, "LOCAL_FOR", 0.0)
    assert ask(lines) == b"2 hello\n"


def test_threads_do_not_wait_for_each_other_and_few_lines_are_kept(programs: Programs, lines: ExecLines) -> None:
    programs.barrier = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: ask(lines), range(4)))
    assert sorted(answers) == [b"%d hello\n" % number for number in range(1, 5)]
    assert len(lines._kept()) == MOST
