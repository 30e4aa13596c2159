"""The limit: a Django view without middleware that sends as many bytes as asked, from gunicorn with as many threads.

gunicorn … tests.benchmarks.bare_view:application
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

from tests.paths import ROOT
from tests.ports import reserve_port
from tests.waiting import wait_until


@contextmanager
def serving_bare(*, workers: int, threads: int) -> Iterator[tuple[int, int]]:
    """Yields the port and the first process."""
    port = reserve_port()
    options = ("-k", "gthread", "-w", str(workers), "--threads", str(threads), "-b", f"127.0.0.1:{port}")
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        *options,
        "--log-level",
        "error",
        "tests.benchmarks.bare_view:application",
    ]
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    process = subprocess.Popen(command, cwd=ROOT, env={**kept, "BERTH_BENCH_BARE": "yes"})
    try:
        wait_until(lambda: _answers(port), within=120)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/2")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
