"""Writes log lines to standard error, each with one write, without making threads wait for each other."""

import logging
import select

from config.logs.writing import write_in_time

WAIT = 1.0
"""Seconds for which a line waits until the log has room. After one that was lost, lines do not wait."""

LOST = "%d lines of this log were lost, because nobody read it."


class ConsoleHandler(logging.StreamHandler):  # type: ignore[type-arg]  # generic in the stubs alone
    """Formats and writes each line without the handler's lock.

    All threads of the service write here, one line for each request. With the lock held while a line is formatted, all
    would wait for a thread that has lost the processor. The kernel keeps lines apart: a write to a file is in one
    piece, and a write to a pipe up to `select.PIPE_BUF` bytes is. Longer lines wait for each other. Into one of them
    other lines may come if nobody reads the pipe and it is full, as lines of other processes always might. Lines are
    lost while nobody reads for longer than `WAIT` seconds; the next line that is written says how many.
    """

    _lost = 0

    def handle(self, record: logging.LogRecord) -> bool:
        is_kept = bool(self.filter(record))
        if is_kept:
            self.emit(record)
        return is_kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self._encode(record)
            target = self._descriptor()
            if target is None or len(line) > select.PIPE_BUF:
                self._write_alone(line, target)
            else:
                self._write(target, line)
        except BlockingIOError:
            self._lost += 1
        except Exception:  # noqa: BLE001 - as logging's own handlers do: a log that is full or gone stops nobody
            self.handleError(record)

    def _encode(self, record: logging.LogRecord) -> bytes:
        return (self.format(record) + self.terminator).encode(errors="backslashreplace")

    def _write(self, target: int, line: bytes) -> None:
        """Raises `BlockingIOError` if nobody reads the log."""
        lost = self._lost
        if lost:
            record = logging.LogRecord("berth.log", logging.WARNING, __file__, 0, LOST, (lost,), None)
            self.filter(record)
            write_in_time(target, self._encode(record), within=0.0)
            self._lost -= lost
        write_in_time(target, line, within=0.0 if lost else WAIT)

    def _descriptor(self) -> int | None:
        """Returns None if the stream is not a file, as in some tests."""
        try:
            return int(self.stream.fileno())
        except (AttributeError, OSError, ValueError):
            return None

    def _write_alone(self, line: bytes, target: int | None) -> None:
        self.acquire()
        try:
            if target is not None:
                self._write(target, line)
            else:
                self.stream.write(line.decode())
                self.flush()
        finally:
            self.release()
