"""Two machines, nginx, a PostgreSQL and an engine, and what happens to them."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.certificates import make_authority
from tests.chaos.database.postgres import PrivatePostgres
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.matrix.redis import PrivateRedis, find_redis
from tests.chaos.servers.lead import describe_lead
from tests.chaos.servers.load import Load
from tests.chaos.servers.machines import PATIENCE, Machine, Nginx, make_environment
from tests.paths import ROOT
from tests.waiting import wait_until

SETTLES = 5.0
"""Seconds after the database is back in which a read may still be refused: pools connect again every second or two."""

SERVES_AGAIN = 2.0
"""Seconds for which nginx considers a server dead that has refused it (`fail_timeout`)."""


class Cluster:
    """With `is_large` the servers count limits in a Redis."""

    def __init__(self, folder: Path, docker_instance: DockerInstance, *, is_large: bool) -> None:
        self._closing = ExitStack()
        self.folder, self.docker_instance = folder, docker_instance
        self.postgres = PrivatePostgres(folder)
        self._closing.callback(self.postgres.close)
        self.postgres.start()
        self.environment = make_environment(folder, self.postgres, docker_instance)
        if is_large:
            self.environment |= self._start_redis(folder)
        key = self._prepare(folder)
        self.machines = [Machine(f"web-{number}", folder, self.environment) for number in (1, 2)]
        for machine in self.machines:
            self._closing.callback(machine.docker.close)
            self._closing.callback(machine.kill)
        ports = [each.port for each in self.machines]
        self.nginx = Nginx(folder, servers=ports, authority=make_authority(folder))
        self._closing.callback(self.nginx.close)
        self.load = Load(self.nginx.port, key)
        self.away: list[tuple[float, float]] = []
        """From when until when the database was away."""

    def _start_redis(self, folder: Path) -> dict[str, str]:
        if find_redis() is None:
            return {}
        redis = PrivateRedis(folder)
        self._closing.callback(redis.end)
        redis.start()
        return {"BERTH_CACHE_URL": f"redis://127.0.0.1:{redis.port}"}

    def _prepare(self, folder: Path) -> str:
        first = self.environment | {"BERTH_DATA_DIR": str(folder / "first")}
        command = [sys.executable, "-m", "tests.chaos.inside.prepare", self.docker_instance.image]
        done = subprocess.run(
            command, cwd=ROOT, env=first, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        for machine in self.machines:
            machine.start()
        self._wait_for_leader(self.machines)
        self.nginx.check()
        self.nginx.start()

    def close(self) -> None:
        self._closing.close()

    def rows(self, query: str) -> list[Any]:
        with self.postgres.connect() as connection:
            return connection.execute(query.encode()).fetchall()

    def find_leader(self) -> Machine | None:
        """The machine whose watcher leads, where its lease is not over."""
        return self._leader_of(self.machines)

    # -- what happens -------------------------------------------------------------------------------------------------

    def kill_one(self) -> None:
        """Like a machine that loses power. Another one takes over its leadership."""
        killed = self.find_leader() or self.machines[0]
        [other] = [each for each in self.machines if each is not killed]
        killed.kill()
        self._wait_for_leader([other])
        killed.start()

    def roll(self) -> None:
        """Each in turn is told to end and restarted, when nginx sends requests to the other."""
        for machine in self.machines:
            machine.stop()
            machine.start()
            time.sleep(2 * SERVES_AGAIN)

    def restart_database(self) -> None:
        began = time.monotonic()
        self.postgres.end(signal.SIGINT)
        self.postgres.start()
        self.away.append((began, time.monotonic()))
        wait_until(lambda: all(each.ask("/readyz") == 200 for each in self.machines), within=PATIENCE, what="Not ready")

    def freeze_leader(self) -> None:
        """It continues when another one leads, and does nothing that only the leader may do."""
        frozen = self._wait_for_leader(self.machines)
        [other] = [each for each in self.machines if each is not frozen]
        frozen.freeze()
        try:
            self._wait_for_leader([other])
        finally:
            frozen.thaw()
        self._assert_leads_on(other)

    def blind_leader(self, mode: str = "refuse") -> None:
        """The engine that it asks goes away, and comes back when another one leads, which asks it in another way."""
        blind = self._wait_for_leader(self.machines)
        [other] = [each for each in self.machines if each is not blind]
        blind.docker.break_(mode)
        blind.docker.cut_streams()
        try:
            self._wait_for_leader([other])
        finally:
            blind.docker.heal()
        self._assert_leads_on(other)

    def _assert_leads_on(self, other: Machine) -> None:
        seen = set()
        until = time.monotonic() + 4.0  # two rounds of the former leader
        while time.monotonic() < until:
            seen.add(self.rows("SELECT holder FROM projects_watch")[0][0].partition(" ")[0])
            time.sleep(0.05)
        assert {name.rpartition("/")[2] for name in seen} == {other.place}, seen

    def _wait_for_leader(self, living: list[Machine]) -> Machine:
        return wait_until(lambda: self._leader_of(living), within=PATIENCE, what=lambda: describe_lead(self))

    def _leader_of(self, living: list[Machine]) -> Machine | None:
        held = self.rows("SELECT holder FROM projects_watch WHERE lease_until > now()")
        return next((each for each in living if held and f"/{each.place} " in held[0][0]), None)

    # -- what must hold -----------------------------------------------------------------------------------------------

    def history(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "history").read_text().splitlines()]

    def failed_reads(self) -> list[Any]:
        """Returns the reads that failed although the database was there."""
        return [
            failure
            for failure in self.load.failures
            if not any(failure.ended >= began and failure.began <= ended + SETTLES for began, ended in self.away)
        ]

    def assert_whole(self) -> None:
        """Asserts that nothing was lost or done twice, and that rows and engine agree."""
        load = self.load
        wait_until(lambda: not self.rows("SELECT 1 FROM projects_project WHERE operation <> ''"), within=PATIENCE)
        assert load.strange == []
        assert all(len(ids) == 1 for ids in load.made.values())
        names = Counter(name for (name,) in self.rows("SELECT name FROM projects_project"))
        assert {name: names[name] for name in load.made} == dict.fromkeys(load.made, 1)
        assert max(names.values()) == 1
        counted = Counter(
            (str(project), action)
            for project, action in self.rows(
                "SELECT project_id, action FROM projects_event WHERE outcome = 'done' AND source <> 'system'"
            )
        )
        for ids in load.made.values():
            for project in ids:
                assert counted[project, "create"] <= 1, (project, counted)
        for project, (sent, answered) in load.restarts.items():
            assert answered <= counted[project, "restart"] <= sent, (project, sent, answered, counted)
        belong = Counter(self.docker_instance.projects())
        assert not [project for project, number in belong.items() if number > 1]
        wait_until(
            lambda: "running" not in self.docker_instance.states().values(), within=PATIENCE, what="Agents run on"
        )
