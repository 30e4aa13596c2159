"""Lines of many threads and processes stay whole, and a log that cannot be written blocks nobody."""

import io
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from config.logs.output import ConsoleHandler

SHORT = (1, 200, 4000)
LONG = 20_000
"""A length in letters that the kernel does not write to a pipe in one piece."""


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("berth.tests", logging.INFO, __file__, 1, message, (), None)


def write_from_threads(stream: TextIO, lengths: tuple[int, ...]) -> None:
    handler = ConsoleHandler(stream)

    def write(letter: str) -> None:
        for number in range(40):
            handler.handle(record(letter * lengths[number % len(lengths)]))

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcdefgh"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def through_a_file(tmp_path: Path, lengths: tuple[int, ...]) -> str:
    path = tmp_path / "log"
    with path.open("w") as stream:
        write_from_threads(stream, lengths)
    return path.read_text()


def through_a_pipe(_: Path, lengths: tuple[int, ...]) -> str:
    reader, writer = os.pipe()
    with ThreadPoolExecutor() as pool, os.fdopen(reader) as file:
        read = pool.submit(file.read)
        with os.fdopen(writer, "w") as stream:
            write_from_threads(stream, lengths)
        return read.result()


def through_memory(_: Path, lengths: tuple[int, ...]) -> str:
    stream = io.StringIO()
    write_from_threads(stream, lengths)
    return stream.getvalue()


def are_whole(lines: list[str], lengths: tuple[int, ...]) -> bool:
    return len(lines) == 8 * 40 and all(len(set(line)) == 1 and len(line) in lengths for line in lines)


@pytest.mark.parametrize("written", [through_a_file, through_a_pipe, through_memory])
def test_lines_of_threads_stay_apart(written: Callable[..., str], tmp_path: Path) -> None:
    assert are_whole(written(tmp_path, SHORT).splitlines(), SHORT)


@pytest.mark.parametrize("written", [through_a_file, through_memory])
def test_long_lines_do_as_well(written: Callable[..., str], tmp_path: Path) -> None:
    assert are_whole(written(tmp_path, (*SHORT, LONG)).splitlines(), (*SHORT, LONG))


def test_nothing_of_long_lines_is_lost_in_a_pipe(tmp_path: Path) -> None:
    written = through_a_pipe(tmp_path, (1, LONG))
    assert {written.count(letter) for letter in "abcdefgh"} == {20 * (1 + LONG)}


def test_a_character_that_cannot_be_encoded_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as stream:
        ConsoleHandler(stream).handle(record("half a pair: \ud83d"))
    assert path.read_bytes() == b"half a pair: \\ud83d\n"


def test_a_record_that_a_filter_drops_is_not_written() -> None:
    stream = io.StringIO()
    handler = ConsoleHandler(stream)
    handler.addFilter(lambda _: False)
    assert handler.handle(record("nothing")) is False
    assert stream.getvalue() == ""


def test_a_closed_log_reader_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        assert ConsoleHandler(stream).handle(record("to nobody")) is True


def fill(writer: int) -> None:
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 512)
    os.set_blocking(writer, True)


@pytest.mark.parametrize("may_open_again", [True, False])
@pytest.mark.parametrize("length", [10, LONG])
def test_a_log_that_nobody_reads_stops_nobody_and_tells_what_was_lost(
    monkeypatch: pytest.MonkeyPatch, may_open_again: bool, length: int
) -> None:
    """Every request would hang in its log line, while `/healthz` and `/readyz` continued to answer 200."""
    if not may_open_again:
        monkeypatch.setattr("config.logs.writing.stat.S_ISFIFO", lambda _: False)
    monkeypatch.setattr("config.logs.output.WAIT", 0.01)
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream, os.fdopen(reader, "rb") as file:
        fill(writer)
        handler = ConsoleHandler(stream)
        handler.setFormatter(logging.Formatter("%(message)s"))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: handler.handle(record("y" * length)), range(8), timeout=60))
        os.read(reader, 1024 * 1024)
        handler.handle(record("read again"))
        stream.close()
        said = file.read().decode().splitlines()
    assert said[-2:] == ["8 lines of this log were lost, because nobody read it.", "read again"]
