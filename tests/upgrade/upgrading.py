"""A database that is being upgraded, and what servers of the release before ask of it meanwhile."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from config.environment import servers
from tests.e2e.service import make_database
from tests.paths import ROOT
from tests.upgrade.releases import Release
from tests.waiting import wait_until

WITHIN = 200.0
ROUNDS = 3
PACE = 0.05
"""Seconds between two requests of a thread, in which the process that migrates gets on."""

ALIAS = "upgraded"


class Upgrade:
    """A database of the release, a process that migrates it when told, and threads of an old server beside it."""

    def __init__(self, release: Release, folder: Path) -> None:
        self.url = make_database()
        self.log = folder / "migrate.log"
        names = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        database = {"DATABASE_URL": self.url} if self.url else {}
        self.environment = {**names, **database, "BERTH_DATA_DIR": str(folder)}
        leaves = [".".join(leaf) for leaf in release.migrations]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.upgrade.migrating", *leaves],
                cwd=ROOT, env=self.environment, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.wait_for("ready")
        connections.databases[ALIAS] = self._settings(folder)
        self.models = MigrationLoader(None).project_state(list(release.migrations)).apps
        self.errors: list[str] = []
        self.rounds: dict[str, int] = {}
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def _settings(self, folder: Path) -> dict[str, Any]:
        """Of a server of the release: a connection that stays open, and waits that end, if late on a busy machine."""
        if self.url:
            options: dict[str, object] = {"options": "-c lock_timeout=60s -c statement_timeout=60s"}
        else:
            options = {"transaction_mode": "IMMEDIATE", "timeout": 60}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("UPGRADED_URL", self.url)
            found = servers.database("UPGRADED_URL", folder / "berth.sqlite3")
        configured: dict[str, Any] = connections.configure_settings({"default": {**found, "OPTIONS": options}})
        return dict(configured["default"])

    def wait_for(self, line: str) -> None:
        wait_until(lambda: line in self.said or self._has_failed, within=WITHIN, what=lambda: self.said)
        assert not self._has_failed, self.said

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def _has_failed(self) -> bool:
        return self.process.poll() not in {None, 0}

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def run_on(self, name: str, act: Callable[[], object]) -> None:
        """Does it again and again in a thread of its own."""

        def repeat() -> None:
            try:
                while not self._stopped.wait(PACE):
                    act()
                    self.rounds[name] = self.rounds.get(name, 0) + 1
            except Exception as error:  # noqa: BLE001 - whatever it is, the test is to show it
                self.errors.append(f"{name}: {error!r}")
            finally:
                connections[ALIAS].close()

        self._threads.append(threading.Thread(target=repeat))
        self._threads[-1].start()

    def wait_for_rounds(self) -> None:
        """Until each thread has done a few more."""
        wanted = {name: done + ROUNDS for name, done in self.rounds.items()}
        wait_until(
            lambda: bool(self.errors) or all(self.rounds[name] >= number for name, number in wanted.items()),
            within=WITHIN,
            what=lambda: f"{self.rounds} of {wanted}",
        )
        assert self.errors == [], self.errors

    def close(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(WITHIN)
        self.process.kill()
        self.process.communicate()
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.databases[ALIAS]
        if self.url:
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {self.url.rpartition('/')[2]} WITH (FORCE)".encode())
