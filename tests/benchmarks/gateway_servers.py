"""The servers that the gateway's benchmark measures: the provider, the bare pass-through and the gateway."""

import argparse
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from tests.gateway.process import Gateway, digest
from tests.ports import reserve_port
from tests.waiting import wait_until

KEY, TOKEN = "bvk_benchmark", "benchmark{:06}"

PROJECTS = 4
"""They share the streams: one alone has 32 at a time, and a twentieth of the processor for its answers."""


def can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


@contextmanager
def running(what: str, *rest: object, python: str = sys.executable) -> Iterator[tuple[int, int]]:
    """Yields the port and the process."""
    port = reserve_port()
    words = [python, "-m", "tests.benchmarks.gateway_ends", what, str(port), *map(str, rest)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)  # it complains of polls that are given up
    try:
        wait_until(lambda: can_connect(port))
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def gateway(image: str, upstream: int, options: argparse.Namespace) -> Iterator[tuple[int, int]]:
    """With a budget, so that every call is reserved on the disk."""
    base = f"http://127.0.0.1:{upstream}"
    with tempfile.TemporaryDirectory() as folder:
        ours = Gateway(Path(image), Path(folder))
        ours.env["GATEWAY_CONNECTIONS"] = "1000000"
        ours.python = options.python
        ours.start()
        try:
            provider = {"key": "sk-real", "kind": "openai", "base": f"{base}/v1"}
            limits = {"parallel": 10**6, "requests": 10**6}
            ours.apply(*[
                {"project": f"streams-{number}", "limits": limits, "budget": {"day_tokens": 2**50},
                 "provider": provider | {"virtual": digest(f"{KEY}{number}")}}
                for number in range(PROJECTS)
            ])  # fmt: skip
            ours.apply(*[
                {"project": str(UUID(int=number)),
                 "telegram": {"virtual": digest(TOKEN.format(number)), "token": f"{number + 1}:real", "base": base}}
                for number in range(options.pollers)
            ])  # fmt: skip
            yield ours.port, ours.pid
        finally:
            ours.kill()
