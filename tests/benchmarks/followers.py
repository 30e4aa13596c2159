"""How fast the API answers reads beside people who follow logs and people who have the list of projects open.

    python -m tests.benchmarks.followers [--followers 30] [--dashboards 100] [--rounds 5] [--seconds 4]
        [--connections 8]

Reads are measured alone and beside them in turn. A follower holds one stream of a real agent's log; five follow one
owner's, who may not have more. Half of the dashboards ask every four seconds what has changed of a list of 50, as its
page does, and every 60 what the agents use; the others what has changed of a project's page. First it is told what each
costs by itself: threads, processor time, and connections to an empty PostgreSQL database that `DATABASE_URL` names.
"""

import argparse
import os
import re
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import psycopg

from tests.benchmarks import reads_table
from tests.benchmarks.deploy import Raw
from tests.benchmarks.harness import Client, Server, manage, median_ratio, print_row, serving
from tests.benchmarks.load import Load, press, uses_wrk
from tests.benchmarks.processes import list_family
from tests.benchmarks.processor import Side

OWNED = 50
PER_OWNER = 5
LOOK_EVERY, CURVES_EVERY, SPAN, FREE_WITHIN = 4.0, 60.0, 8.0, 20
"""Seconds."""

PEOPLE = """
from django.conf import settings
from django.test import Client
from accounts.models import Scope, User
from accounts.services.api_keys import issue_api_key
folder = settings.BERTH_DATA_DIR
for number in range({owners}):
    user = User.objects.create_user(f"follower-{{number}}@example.org")
    _, key = issue_api_key(user=user, session=None, name="bench", scope=Scope.WRITE, lifetime_days=None)
    (folder / f"follower-{{number}}").write_text(key)
browser = Client()
browser.force_login(User.objects.get(email="owner-of-{owned}@example.org"))
(folder / "cookie").write_text("; ".join(f"{{name}}={{each.value}}" for name, each in browser.cookies.items()))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--followers", type=int, default=30)
    parser.add_argument("--dashboards", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    client = "wrk" if uses_wrk(options.seconds) else "Python's client, which takes much of the same processors"
    print_row(f"{os.cpu_count()} processors", f"{options.connections} connections", client)
    raw = Raw()
    with closing(raw.client), serving(image=raw.make_image()) as server:
        run(server, options)


def run(server: Server, options: argparse.Namespace) -> None:
    rows = reads_table.prepare(server, OWNED)[:5]
    owners = -(-options.followers // PER_OWNER)
    manage(server, "shell", "--no-imports", "-c", PEOPLE.format(owners=owners, owned=OWNED))
    logs = [deploy(server, number) for number in range(owners)]
    print_row("", "connections", "threads", "of a core")
    tell("nobody", server)
    with following(server, logs, options.followers):
        tell(f"{options.followers} followers", server)
    with looking(server, options.dashboards):
        tell(f"{options.dashboards} dashboards", server)
    print_row("read", "alone /s", "beside /s", "÷ alone", "alone p50 ms", "beside p50 ms", "alone p99 ms", "beside p99")
    for row in rows:
        alone, beside = [], []
        for _ in range(options.rounds):
            chosen: Any = {"seconds": options.seconds, "connections": options.connections, "status": row.status}
            alone.append(press(server.port, row.path, row.headers, **chosen))
            with ExitStack() as stack:
                stack.enter_context(following(server, logs, options.followers))
                looks = stack.enter_context(looking(server, options.dashboards))
                beside.append(press(server.port, row.path, row.headers, **chosen))
                assert set(looks) <= {200, 204}, looks
        report(row.name, alone, beside)


def deploy(server: Server, number: int) -> tuple[str, str]:
    """The address of the log of a new agent of the owner, and the owner's key."""
    key = Path(server.environment["BERTH_DATA_DIR"], f"follower-{number}").read_text()
    client = Client(server.port, key)
    body = {"name": "bench", "type": "stub", "plan": "bench", "telegramToken": f"{number + 1}:bench", "apiKey": "sk-b"}
    project = client.ask("POST", "/api/projects", body, 201)
    return f"/api/projects/{project['id']}/logs?follow=true", key


@contextmanager
def following(server: Server, logs: list[tuple[str, str]], number: int) -> Iterator[list[HTTPResponse]]:
    """Opens that many streams and waits until all have begun. Their output fits into the sockets' buffers."""
    with ExitStack() as stack:
        yield [follow(server, stack, *logs[place // PER_OWNER]) for place in range(number)]


def follow(server: Server, stack: ExitStack, path: str, key: str) -> HTTPResponse:
    """A stream that was just closed frees its place only once the server has noticed."""
    for _ in range(FREE_WITHIN):
        connection = stack.enter_context(closing(HTTPConnection("127.0.0.1", server.port, timeout=60)))
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        if answer.status != 429:
            break
        time.sleep(1)
    assert answer.status == 200, answer.read()
    return stack.enter_context(closing(answer))


@contextmanager
def looking(server: Server, number: int) -> Iterator[list[int]]:
    """Opens that many pages, alternately the list and a project. Yields the statuses of their answers."""
    cookie = Path(server.environment["BERTH_DATA_DIR"], "cookie").read_text()
    page = get(HTTPConnection("127.0.0.1", server.port, timeout=60), "/", cookie)[1].decode()
    marks = re.findall(r'<input[^>]*name="(order|counts|seen)" value="(\w+)"', page)
    seen = "&".join(f"{name}={value}" for name, value in marks)
    project = f"/projects/{re.findall('id=.row-([0-9a-f-]+)', page)[0]}/changes"
    parts = get(HTTPConnection("127.0.0.1", server.port, timeout=60), project, cookie)[1].decode()
    known = "&seen=".join(re.findall(r'data-mark="([\w.]+)"', parts))
    asked = (f"/projects/changes?{seen}", f"{project}?quick=1&seen={known}")
    statuses, is_over = list[int](), threading.Event()

    def look(path: str, delay: float) -> None:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        curves_at = time.monotonic() + CURVES_EVERY * delay / LOOK_EVERY
        while not is_over.wait(delay):
            delay = LOOK_EVERY
            statuses.append(get(connection, path, cookie)[0])
            if path is asked[0] and time.monotonic() >= curves_at:
                curves_at += CURVES_EVERY
                statuses.append(get(connection, "/projects/curves", cookie)[0])
        connection.close()

    begin = [(asked[place % 2], LOOK_EVERY * place / number) for place in range(number)]
    threads = [threading.Thread(target=look, args=each) for each in begin]
    list(map(threading.Thread.start, threads))
    try:
        yield statuses
    finally:
        is_over.set()
        list(map(threading.Thread.join, threads))


def tell(name: str, server: Server) -> None:
    """Measures for a few seconds, in which each dashboard refreshes twice."""
    assert server.process is not None
    side = Side(name, server.port, server.process.pid, [])
    began = side.spent()
    time.sleep(SPAN)
    print_row(name, *count(server), f"{(side.spent() - began) / SPAN:.0%}")


def get(connection: HTTPConnection, path: str, cookie: str) -> tuple[int, bytes]:
    connection.request("GET", path, headers={"Cookie": cookie, "HX-Request": "true"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def count(server: Server) -> tuple[object, int]:
    """The connections to PostgreSQL (if it is the database) and the threads of the service's processes."""
    connections: object = "-"
    if (address := server.environment.get("DATABASE_URL", "")).startswith("postgres"):
        with psycopg.connect(address) as connection:
            found = connection.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()").fetchall()
            connections = len(found) - 1  # this one
    assert server.process is not None
    tasks = [Path(f"/proc/{pid}/task") for pid in list_family(server.process.pid)]
    return connections, sum(len(list(task.iterdir())) for task in tasks if task.exists())


def report(name: str, alone: list[Load], beside: list[Load]) -> None:
    rates = [each.per_second for each in beside], [each.per_second for each in alone]
    low, middle, high = median_ratio(*rates) if len(alone) > 1 else (rates[0][0] / rates[1][0],) * 3
    print_row(
        name,
        *(f"{statistics.median(values):.0f}" for values in reversed(rates)),
        f"{middle:.2f} ({low:.2f}-{high:.2f})",
        *(f"{statistics.median(each.median for each in loads):.1f}" for loads in (alone, beside)),
        *(f"{statistics.median(each.p99 for each in loads):.0f}" for loads in (alone, beside)),
    )


if __name__ == "__main__":
    main()
