"""Doing something many times at once, and the proof that operations on one project took turns."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections

COMMANDS = ("start", "stop", "restart")


def at_once(number: int, act: Callable[[int], Any]) -> list[Any]:
    """Returns the answers of this many threads that begin together."""
    barrier = threading.Barrier(number)

    def run(index: int) -> Any:
        barrier.wait(60)
        try:
            return act(index)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(run, range(number)))


def assert_one_at_a_time(history: list[dict[str, Any]]) -> None:
    """Asserts that no two completed operations held the same project at the same time.

    A preempted one finds that it holds nothing when it wants to write: its `record` is not done.
    """
    claims = {line["claim"]: line for line in history if line["event"] == "claim"}
    held: dict[str, list[tuple[float, float, str]]] = {}
    for line in history:
        if line["event"] == "record" and line["done"] and line["claim"] in claims:
            claim = claims[line["claim"]]
            held.setdefault(line["project"], []).append((claim["at"], line["asked_at"], claim["operation"]))
    assert held
    for spans in held.values():
        spans.sort()
        for (_, end, first), (begin, _, second) in itertools.pairwise(spans):
            assert end <= begin, f"{second} began while {first} held the project"
