"""Where log lines go: standard error, a line with one write, and nothing that threads wait for each other for."""

import logging
import os
import select


class ConsoleHandler(logging.StreamHandler):  # type: ignore[type-arg]  # generic in the stubs alone
    """Makes and writes each line without the handler's lock.

    All threads of the service write here, a line for each request: with the lock held while a line is made, those that
    answer would wait for one that the processor was taken from. The kernel keeps lines apart: what is written to a file
    is in one piece, and to a pipe up to `select.PIPE_BUF` bytes are. Longer lines wait for each other; into one of
    them others may come where nobody reads the pipe and it is full, as those of the other processes always might.
    """

    def handle(self, record: logging.LogRecord) -> bool:
        is_kept = bool(self.filter(record))
        if is_kept:
            self.emit(record)
        return is_kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + self.terminator).encode(errors="backslashreplace")
            target = self._descriptor()
            if target is None or len(line) > select.PIPE_BUF:
                self._write_alone(line, target)
            else:
                _write(target, line)
        except Exception:  # noqa: BLE001 - as logging's own handlers do: a log that is full or gone stops nobody
            self.handleError(record)

    def _descriptor(self) -> int | None:
        """None where the stream is no file, as in some tests."""
        try:
            return int(self.stream.fileno())
        except (AttributeError, OSError, ValueError):
            return None

    def _write_alone(self, line: bytes, target: int | None) -> None:
        self.acquire()
        try:
            if target is not None:
                _write(target, line)
            else:
                self.stream.write(line.decode())
                self.flush()
        finally:
            self.release()


def _write(target: int, line: bytes) -> None:
    """All of it: of a long line the kernel may take a part at a time."""
    while line:
        line = line[os.write(target, line) :]
