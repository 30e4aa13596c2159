"""Small servers of tests that run as separate processes, for example in another network namespace."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.paths import ROOT


@contextmanager
def child_server(command: list[str]) -> Iterator[None]:
    """Runs a server that prints `open` once it listens, and ends when its input is closed."""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        assert server.stdout.readline() == b"open\n"
        try:
            yield
        finally:
            server.stdin.close()
            server.wait(60)
