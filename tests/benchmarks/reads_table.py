"""The rows of the table for reads: list, page, unchanged list, detail, session, health, and the list during deploys."""

import argparse
import json
import statistics
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

from tests.benchmarks import commands, processes
from tests.benchmarks.bare import serving_bare
from tests.benchmarks.deploy import Raw, api_round
from tests.benchmarks.fill import GROWN, ROWS
from tests.benchmarks.harness import Client, Server, manage, median_ratio, print_row, serving
from tests.benchmarks.load import Load, press
from tests.waiting import wait_until

WORKERS, THREADS = 2, 16
"""Those of the service by default."""

OTHER_LISTS = (1, 1000)
"""Projects of other owners, whose lists are measured as well."""


@dataclass(frozen=True)
class Row:
    name: str
    path: str
    headers: Mapping[str, str]
    status: int = 200


def main(options: argparse.Namespace) -> None:
    raw = Raw() if options.deploys else None
    image = raw.make_image() if raw else "none"
    try:
        with serving(image=image) as server, serving_bare(workers=WORKERS, threads=THREADS) as (bare, _):
            rows = prepare(server, options.projects)
            print_row("read", "per second", "bare view", "÷ bare", "p50 ms", "p99 ms", "p99 ÷ bare")
            for row in rows:
                report(row, *measure(server, bare, row, options))
            report(Row("page ÷ whole list", "", {}), *press_in_turn(server.port, (rows[1], rows[0]), options))
            if options.deploys:
                with deploying(server, clients=options.deploys):
                    measured = measure(server, bare, rows[0], options)
                report(Row(f"list, {options.deploys} deploys", rows[0].path, {}), *measured)
            for count in options.rows:
                manage(server, "shell", "--no-imports", "-c", GROWN.format(count=count))
                report(Row(f"list, {count} rows", rows[0].path, {}), *measure(server, bare, rows[0], options))
            processes.report_memory(server)
            if raw and options.commands:
                chosen = {"at_once": options.at_once, "others": options.others}
                commands.report(server, raw, rounds=options.commands, **chosen)
            processes.report_readiness(server, rounds=min(options.rounds, 3))
    finally:
        if raw:
            raw.client.close()


def prepare(server: Server, count: int) -> list[Row]:
    """Makes the projects of some owners, and waits until the watcher has seen them."""
    manage(server, "shell", "--no-imports", "-c", ROWS.format(counts=(count, *OTHER_LISTS)))
    sent = {owned: _headers(server, owned) for owned in (count, *OTHER_LISTS)}

    def has_settled() -> bool:
        return all(
            each["status"] == "stopped" for each in json.loads(ask(server.port, "/api/projects", sent[count])[1])
        )

    wait_until(has_settled, within=120)
    etag, body = ask(server.port, "/api/projects", sent[count])
    others = [Row(f"list of {owned}", "/api/projects", sent[owned]) for owned in OTHER_LISTS]
    return [
        *_rows_of(count, sent[count], etag, str(json.loads(body)[0]["id"])),
        *others,
        Row("/healthz", "/healthz", {}),
    ]


def _headers(server: Server, owned: int) -> dict[str, str]:
    key = Path(server.environment["BERTH_DATA_DIR"], f"bench-key-{owned}").read_text()
    return {"Authorization": f"Bearer {key}"}


def _rows_of(count: int, sent: dict[str, str], etag: str, project: str) -> list[Row]:
    return [
        Row(f"list of {count}", "/api/projects", sent),
        Row("page of 20", "/api/projects?limit=20", sent),
        Row("unchanged list", "/api/projects", {**sent, "If-None-Match": etag}, status=304),
        Row("detail", f"/api/projects/{project}", sent),
        Row("session", "/api/auth/session", sent),
    ]


def ask(port: int, path: str, headers: Mapping[str, str]) -> tuple[str, bytes]:
    """The ETag and the body."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=dict(headers))
    answer = connection.getresponse()
    etag, body = answer.headers.get("ETag", ""), answer.read()
    connection.close()
    return etag, body


def measure(server: Server, bare: int, row: Row, options: argparse.Namespace) -> tuple[list[Load], list[Load]]:
    """Measures ours and the bare view in turn, each time with new connections; they take turns at being first.

    The bare view of a 304 sends what the client has. The first slice of each is not counted.
    """
    whole = {name: value for name, value in row.headers.items() if name != "If-None-Match"}
    size = len(ask(server.port, row.path, whole)[1])
    return _in_turn(_press(server.port, row, options), _press(bare, Row("", f"/{size}", row.headers), options), options)


def press_in_turn(port: int, rows: tuple[Row, Row], options: argparse.Namespace) -> tuple[list[Load], list[Load]]:
    """Compares two of ours, as `measure` compares one of ours with the bare view."""
    return _in_turn(_press(port, rows[0], options), _press(port, rows[1], options), options)


def _press(port: int, row: Row, options: argparse.Namespace) -> Callable[[], Load]:
    chosen = {"seconds": options.seconds, "connections": options.connections}
    return partial(press, port, row.path, row.headers, status=row.status, **chosen)


def _in_turn(
    first: Callable[[], Load], second: Callable[[], Load], options: argparse.Namespace
) -> tuple[list[Load], list[Load]]:
    sides: list[tuple[Callable[[], Load], list[Load]]] = [(first, []), (second, [])]
    for number in range(options.rounds + 1):
        for act, loads in sides if number % 2 else reversed(sides):
            load = act()
            if number:
                loads.append(load)
    return sides[0][1], sides[1][1]


def report(row: Row, ours: list[Load], theirs: list[Load]) -> None:
    rates = [each.per_second for each in ours], [each.per_second for each in theirs]
    print_row(
        row.name,
        *(f"{statistics.median(values):.0f}" for values in rates),
        _ratio(*rates),
        f"{statistics.median(each.median for each in ours):.1f}",
        f"{statistics.median(each.p99 for each in ours):.0f}",
        _ratio([each.p99 for each in ours], [each.p99 for each in theirs]),
    )


def _ratio(ours: list[float], theirs: list[float]) -> str:
    if len(ours) < 2:
        return f"{ours[0] / theirs[0]:.3f}"
    low, middle, high = median_ratio(ours, theirs)
    return f"{middle:.3f} ({low:.2f}-{high:.2f})"


@contextmanager
def deploying(server: Server, *, clients: int) -> Iterator[None]:
    """Clients that deploy, stop and delete all the time, each as a different user. Raises the error of any of them."""
    is_over = threading.Event()

    def go_on(client: Client, number: int) -> None:
        while not is_over.is_set():
            api_round(client, number)

    connected = server.connect_users(clients)
    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(go_on, client, number) for number, client in enumerate(connected)]
        try:
            yield
        finally:
            is_over.set()
    for each in running:
        each.result()
