"""Asks a server for the same again and again, over many connections: with `wrk`, or else by itself.

The client takes part of the same processors. `wrk` takes little; where it is missing, Python's client takes so much
that the bare view looks slower than it is. So the table says which of them it was.
"""

import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection

from tests.benchmarks.harness import UnexpectedAnswerError, percentile
from tests.waiting import wait_until

WRK = shutil.which("wrk")
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


@dataclass(frozen=True)
class Load:
    per_second: float
    median: float
    p99: float
    """Milliseconds."""


def uses_wrk(seconds: float) -> bool:
    """wrk accepts whole seconds only."""
    return WRK is not None and seconds >= 1


def press(
    port: int, path: str, headers: Mapping[str, str], *, status: int = 200, seconds: float = 4, connections: int = 16
) -> Load:
    """Begins once the answer has this status: on a busy machine the known state may be too old for a moment."""
    wait_until(lambda: _ask(port, path, headers) == status, within=120)
    if uses_wrk(seconds):
        return _press_by_wrk(port, path, headers, seconds, connections)
    return _press_by_threads(port, path, headers, seconds, connections)


def _ask(port: int, path: str, headers: Mapping[str, str]) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=dict(headers))
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def _press_by_wrk(port: int, path: str, headers: Mapping[str, str], seconds: float, connections: int) -> Load:
    sent = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
    options = ["-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency", *sent]
    command = [str(WRK), *options, f"http://127.0.0.1:{port}{path}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if failed := re.search(r"(?:Non-2xx|Socket errors).*", said):
        raise UnexpectedAnswerError(f"Under load GET {path} was not answered as it is to be: {failed[0]}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate, said
    return Load(float(rate[1]), _latency(said, "50%"), _latency(said, "99%"))


def _latency(said: str, share: str) -> float:
    found = re.search(rf"^\s+{share}\s+([\d.]+)(us|ms|s|m)\s*$", said, re.MULTILINE)
    assert found, said
    return float(found[1]) * _UNITS[found[2]]


def _press_by_threads(port: int, path: str, headers: Mapping[str, str], seconds: float, connections: int) -> Load:
    took: list[float] = []
    until = time.monotonic() + seconds

    def ask() -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        while not took or time.monotonic() < until:
            began = time.perf_counter()
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            answer.read()
            took.append((time.perf_counter() - began) * 1000)
            if answer.status >= 400:
                raise UnexpectedAnswerError(f"Under load GET {path} was answered {answer.status}.")
        connection.close()

    with ThreadPoolExecutor(connections) as pool:
        for each in [pool.submit(ask) for _ in range(connections)]:
            each.result()
    return Load(len(took) / seconds, statistics.median(took), percentile(took, 0.99))
