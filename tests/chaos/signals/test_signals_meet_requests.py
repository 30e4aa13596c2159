"""Every signal to every process while requests are under way: what has begun ends well, or at least it ends.

All of them: `--chaos=long`. Otherwise those to a worker of the web server, and one random other.
"""

import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.chaos.signals.whole import PATIENCE, UnderWay, Whole, send
from tests.config.serving.served import is_alive
from tests.waiting import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.timeout(3600)]

Cell = tuple[str, tuple[signal.Signals, ...]]
TERM, INT, HUP, QUIT, KILL = signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL
GOES_ON, DRAINS, HANDS_OVER, BREAKS = "goes on", "drains", "hands over", "breaks"
"""Nothing happens to the requests; begun requests are finished, and streams and idle connections end in order; the
same, once the new program serves; they break."""

OF_A_WORKER: dict[Cell, tuple[str, int | None]] = {
    ("web worker", (TERM,)): (DRAINS, None),
    ("web worker", (TERM, TERM)): (DRAINS, None),
    ("web worker", (HUP,)): (GOES_ON, None),
    ("web worker", (INT,)): (BREAKS, None),
    ("web worker", (QUIT,)): (BREAKS, None),
    ("web worker", (KILL,)): (BREAKS, None),
}
OTHERS: dict[Cell, tuple[str, int | None]] = {
    **{("watcher", (number,)): (GOES_ON, None) for number in (TERM, INT, HUP, QUIT, KILL)},
    ("watcher", (TERM, TERM)): (GOES_ON, None),
    ("serve", (HUP,)): (HANDS_OVER, None),
    ("serve", (TERM,)): (DRAINS, 0),
    ("serve", (INT,)): (DRAINS, 0),
    ("serve", (KILL,)): (DRAINS, -KILL),
    ("serve", (QUIT,)): (BREAKS, 128 + QUIT),
    ("serve", (TERM, TERM)): (BREAKS, 128 + TERM),
    ("serve", (INT, TERM)): (BREAKS, 128 + TERM),
    ("web server", (HUP,)): (GOES_ON, None),
    ("web server", (TERM,)): (DRAINS, 1),
    ("web server", (TERM, TERM)): (DRAINS, 1),
    ("web server", (INT,)): (BREAKS, 1),
    ("web server", (QUIT,)): (BREAKS, 1),
    ("web server", (KILL,)): (DRAINS, 128 + KILL),
}
"""What happens to the requests, and the exit code of `serve`, which systemd starts again; None if it keeps running."""

CELLS = OF_A_WORKER | OTHERS


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    made = Whole(tmp_path_factory.mktemp("signalled"))
    try:
        made.start()
        yield made
    finally:
        made.close()


@contextmanager
def requests_under_way(service: Whole) -> Iterator[UnderWay]:
    service.start_again()
    service.wait_until_whole()
    made = UnderWay(service)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.rare(2)
def test_each_signal_treats_running_requests_as_documented(service: Whole, request: pytest.FixtureRequest) -> None:
    cells = list(OTHERS)
    if request.config.getoption("--chaos", "short") == "short":
        seed = int(os.environ.get("BERTH_TEST_SIGNALS_SEED") or random.randrange(1 << 30))
        sys.stdout.write(f"BERTH_TEST_SIGNALS_SEED={seed}\n")
        cells = [random.Random(seed).choice(cells)]
    for cell in [*OF_A_WORKER, *cells]:
        sys.stdout.write(f"{cell[0]} {'+'.join(number.name for number in cell[1])}\n")
        try_(service, cell)


def try_(service: Whole, cell: Cell) -> None:
    outcome, code = CELLS[cell]
    with requests_under_way(service) as under_way:
        family = service.family()
        gone = replaced_by(service, *cell)
        send(service, *cell)
        assert_met(under_way, outcome)
    if code is not None:
        assert service.wait_for_end(family) == code
        return
    wait_until(lambda: not any(map(is_alive, gone)), within=PATIENCE, what=service.log.read_text)
    service.wait_until_whole()
    assert service.call("GET", "/api/projects").status == 200


def replaced_by(service: Whole, process: str, numbers: tuple[signal.Signals, ...]) -> set[int]:
    """Returns the processes that a signal ends in a service that keeps running:
    with a new program all except the first."""
    if process == "serve":
        return service.family() - service.pids("serve")
    return set() if numbers == (HUP,) else service.pids(process)


def assert_met(under_way: UnderWay, outcome: str) -> None:
    answered = {}
    if outcome == HANDS_OVER:
        answered = under_way.let_go()  # before the new program is there, which takes a while
    if outcome == GOES_ON:
        assert under_way.still_serves()
    else:
        ended = (under_way.read_stream(), under_way.read_idle())
        assert ended == ("orderly", "orderly") or outcome == BREAKS
    answered = answered or under_way.let_go()
    assert set(answered) == {"create", "stop"}
    if outcome != BREAKS:
        assert answered == {"create": 201, "stop": 200}


def test_every_process_gets_every_signal() -> None:
    for process in ("serve", "watcher", "web server", "web worker"):
        assert {(process, (number,)) for number in (TERM, INT, HUP, QUIT, KILL)} <= set(CELLS)
        assert (process, (TERM, TERM)) in CELLS
