"""Every fault of the database and every kind of request, against a real server and a real watcher.

    .venv/bin/python -m tests.chaos.database.cells                       # all of them
    .venv/bin/python -m tests.chaos.database.cells frozen vanished       # these
    .venv/bin/python -m tests.chaos.database.cells --sample 2 --seed 42  # two of them

Makes a PostgreSQL of its own, and as root goes into namespaces of its own first, in which packets may be dropped and
a small disk mounted. Prints a line for each fault, and ends with 1 where an answer was wrong.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.chaos.database.faults import FAULTS, MOST_OF_SERVICE, THREADS, Bench
from tests.chaos.database.postgres import PrivatePostgres
from tests.chaos.database.requests import Client, find_faults
from tests.chaos.database.sqlite import SQLITE_FAULTS, SmallDisk
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.own_network import enter_own_network, is_in_own_network
from tests.chaos.server import Server, Site
from tests.paths import ROOT
from tests.waiting import wait_until

WELL_WITHIN = 60.0
"""Seconds after a fault within which everything works again. A guard; the table says how long it took."""


OTHER = {"BERTH_INSTANCE": "chaos-watcher", "DJANGO_SETTINGS_MODULE": "config.settings"}
WATCH = "import django; django.setup(); from django.core.management import call_command; call_command('watch')"
"""`manage.py watch`, but of another instance than the projects, which the command line would refuse."""


class Trial:
    """A PostgreSQL, a server with one process, whose engine is in memory, and a watcher with an engine of its own."""

    def __init__(self, home: Path, started: ExitStack, *, within: float) -> None:
        """`started` ends everything that it starts, the latest first."""
        self._within = within
        self._prepare_database(home, started)
        engine = SimpleNamespace(name="chaos-database", image="berth/assistant:latest")
        self.site = Site(home, cast("DockerInstance", engine))
        environment = {"DJANGO_SETTINGS_MODULE": "tests.chaos.database.settings", "BERTH_WORKERS": "1"}
        self.site.environment |= {**environment, "BERTH_THREADS": str(THREADS)}
        signed_in = self.site.run("tests.chaos.database.sign_in")
        assert signed_in.returncode == 0, signed_in.stderr
        started.callback(self._end_servers)
        self.server: Server = self.site.serve()
        self.client = Client(port=self.server.port, key=self.site.key, cookies=json.loads(signed_in.stdout))
        self.watcher_log = home / "watcher.log"
        self.watcher = self._watch()
        started.callback(self._end_watcher)

    def _prepare_database(self, home: Path, started: ExitStack) -> None:
        self._postgres = PrivatePostgres(home)
        started.callback(self._postgres.close)
        self._postgres.start()
        os.environ["DATABASE_URL"] = self._postgres.url

    def breaking(self, fault: str) -> AbstractContextManager[None]:
        broken: AbstractContextManager[None] = FAULTS[fault](self._bench)
        return broken

    @property
    def _bench(self) -> Bench:
        return Bench(self._postgres, self.site.environment["DATABASE_URL"])

    def _watch(self) -> subprocess.Popen[bytes]:
        with self.watcher_log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-c", WATCH],
                cwd=ROOT, env=self.site.environment | OTHER,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    def _end_servers(self) -> None:
        for server in self.site.servers:
            server.kill()

    def _end_watcher(self) -> None:
        self.watcher.kill()
        self.watcher.wait(60)

    def heartbeat(self) -> Any:
        return self._bench.read_heartbeat()

    def count_connections(self) -> int:
        return self._bench.count_connections()

    def is_well(self) -> bool:
        ready = self.client.send("GET", "/readyz")
        return ready.status == 200 and self.client.send("GET", "/api/projects").status == 200

    def take(self, fault: str) -> tuple[list[str], str]:
        """Returns what was wrong, and a line for the table."""
        targets = self.client.make_targets()
        with self.breaking(fault):
            answers = self.client.send_all(targets)
            again = self.client.send_all(targets)
        both = [*answers.items(), *again.items()]
        wrong = [each for name, answer in both for each in find_faults(name, answer, within=self._within)]
        began, beat = time.monotonic(), self.heartbeat()
        wait_until(self.is_well, within=WELL_WITHIN, what=lambda: self.server.log.read_text()[-6000:], every=0.2)
        well_after = time.monotonic() - began
        wait_until(
            lambda: self.heartbeat() not in {None, beat}, within=WELL_WITHIN, what=self.watcher_log.read_text, every=0.2
        )
        beat_after = time.monotonic() - began
        assert self.watcher.poll() is None, self.watcher_log.read_text()
        wrong += self.check_commands(targets)
        if (connections := self.count_connections()) > MOST_OF_SERVICE:
            wrong.append(f"{connections} connections to the database")
        refused = sum(answer.status == 503 for answer in answers.values())
        slowest = max(both, key=lambda item: item[1].seconds)
        return wrong, (
            f"{fault}: {refused} of {len(answers)} refused, slowest {slowest[1].seconds:.1f} s ({slowest[0]}),"
            f" well after {well_after:.1f} s, watcher after {beat_after:.1f} s,"
            f" {connections} connections"
        )

    def check_commands(self, targets: dict[str, str]) -> list[str]:
        """Checks that nothing is stuck: after a claim has expired every project can be started, and then deleted."""
        self.server.reconcile(later=True)
        return self.client.start_and_delete_all()


class SqliteTrial(Trial):
    def _prepare_database(self, home: Path, started: ExitStack) -> None:
        self._disk = SmallDisk(home)
        started.callback(self._disk.close)
        os.environ.pop("DATABASE_URL", None)

    def breaking(self, fault: str) -> AbstractContextManager[None]:
        broken: AbstractContextManager[None] = SQLITE_FAULTS[fault](self._disk)
        return broken

    def count_connections(self) -> int:
        """A file has none."""
        return 0

    def heartbeat(self) -> Any:
        return self._disk.read_heartbeat()


def run(faults: Sequence[str], kind: type[Trial], *, within: float) -> bool:
    """Returns whether every answer was right."""
    is_right = True
    if not faults:
        return is_right
    with tempfile.TemporaryDirectory(prefix="berth-database-") as home, ExitStack() as started:
        made = kind(Path(home), started, within=within)
        for fault in faults:
            wrong, line = made.take(fault)
            is_right = is_right and not wrong
            print("✗" if wrong else "✓", line, *wrong, sep="\n    " if wrong else " ", flush=True)  # noqa: T201 - what the command is run for
    return is_right


def choose(arguments: argparse.Namespace) -> list[str]:
    possible = [name for name in FAULTS if name != "vanished" or is_in_own_network()]
    if arguments.faults:
        return list(arguments.faults)
    if not arguments.sample:
        return possible + ([*SQLITE_FAULTS] if is_in_own_network() else [])
    # Two runs with the same seed take the same ones.
    seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)  # noqa: T201 - what the command is run for
    return random.Random(seed).sample(possible, arguments.sample)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("faults", nargs="*", choices=[[], *FAULTS, *SQLITE_FAULTS])
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--within", type=float, default=30.0, help="Seconds that an answer may take.")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything that was started is ended
    if os.geteuid() == 0:
        enter_own_network("tests.chaos.database.cells")
    faults = choose(arguments)
    on_postgres = run([name for name in faults if name in FAULTS], Trial, within=arguments.within)
    on_sqlite = run([name for name in faults if name in SQLITE_FAULTS], SqliteTrial, within=arguments.within)
    return 0 if on_postgres and on_sqlite else 1


if __name__ == "__main__":
    sys.exit(main())
