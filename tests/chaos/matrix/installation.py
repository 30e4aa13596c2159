"""A whole installation, and everything that it depends on, each behind something that can break."""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker
import requests

from tests.chaos.clock import LIBRARY, faked_clock, set_clock
from tests.chaos.database.postgres import PrivatePostgres
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.matrix.redis import PrivateRedis
from tests.chaos.matrix.relay import Relay
from tests.chaos.memory_disk import MemoryDisk
from tests.chaos.private_engine import PrivateEngine
from tests.chaos.server import Server, Site
from tests.config.serving.served import children_of
from tests.fakes.faulty_docker import FaultyDocker
from tests.fakes.provider import FakeProvider
from tests.fakes.smtp import SmtpServer, smtp_server
from tests.fakes.telegram import FakeTelegram
from tests.paths import ROOT
from tests.waiting import wait_until

PATIENCE = 120.0
KEY = "sk-chaos-matrix"
LOOK_EVERY = 0.4
ENGINE_DISK = "300m"
DATABASE_DISK = "400m"
SERVICE_DISK = "40m"
"""Disks of their own, so that they can be filled."""


class WholeService(Server):
    """`manage.py serve`: the web server, its workers and the watcher."""

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        self.wait_until_ready()
        wait_until(self.is_well, within=PATIENCE, what=self.log.read_text, every=0.2)

    def is_well(self) -> bool:
        return self.call("GET", "/readyz").status == 200

    def pids(self, process: str) -> set[int]:
        """The ids of the processes: "serve", "watcher", or "web worker"."""
        assert self._process is not None
        if process == "serve":
            return {self._process.pid}
        name = "watcher" if process == "watcher" else "web server"
        words = [line for line in self.log.read_text().splitlines() if f"Started the {name}, process " in line]
        child = int(words[-1].rpartition("process ")[2].rstrip("."))
        return {child} if process == "watcher" else children_of(child)

    def close(self) -> None:
        assert self._process is not None
        family = {self._process.pid, *self.pids("watcher")}
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.kill()


@dataclass(frozen=True)
class Sighting:
    """Which projects had a container that ran, at a moment of the monotonic clock."""

    at: float
    running: frozenset[str]


class Witness:
    """Asks the engine itself, past everything that is broken, what runs."""

    def __init__(self, instance: DockerInstance) -> None:
        self._instance = instance
        self._ended = threading.Event()
        self.sightings: list[Sighting] = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_EVERY):
            began = time.monotonic()
            with suppress(docker.errors.APIError, requests.RequestException):
                states = self._instance.states()
                # An engine that was frozen meanwhile says what was so at some moment of that time.
                if time.monotonic() - began < 2 * LOOK_EVERY:
                    running = frozenset(project for project, state in states.items() if state == "running")
                    self.sightings.append(Sighting(began, running))

    def close(self) -> None:
        self._ended.set()
        self._thread.join(PATIENCE)


class Installation:
    """The service with its database, engine, Telegram, provider, mail server and Redis, all of them its own."""

    def __init__(self, home: Path, started: ExitStack, *, has_fake_clock: bool, has_redis: bool) -> None:
        """What it starts is ended by `started`, the latest first."""
        self.engine = PrivateEngine(home / "engine", own_network=False)
        (home / "engine").mkdir()
        self.engine_disk = MemoryDisk(home / "engine" / "data", ENGINE_DISK)
        started.callback(self.engine_disk.close)
        self.service_disk = MemoryDisk(home / "service", SERVICE_DISK)
        started.callback(self.service_disk.close)
        started.callback(self.engine.close)
        self.engine.start()
        os.environ["DOCKER_HOST"] = self.engine.url
        self.postgres = PrivatePostgres(home, disk=DATABASE_DISK)
        started.callback(self.postgres.close)
        self.postgres.start()
        os.environ["DATABASE_URL"] = self.postgres.url
        self.telegram = started.enter_context(FakeTelegram())
        self.provider = started.enter_context(FakeProvider())
        self.provider.add_key(KEY)
        self.mail: SmtpServer = started.enter_context(smtp_server())
        self.relays = {
            "database": Relay(self.postgres.port),
            "telegram": Relay(self.telegram.port),
            "provider": Relay(self.provider.port),
            "mail": Relay(self.mail.port),
        }
        self.redis = PrivateRedis(home) if has_redis else None
        if self.redis:
            started.callback(self.redis.end)
            self.redis.start()
            self.relays["redis"] = Relay(self.redis.port)
        for relay in self.relays.values():
            started.callback(relay.close)
        self.proxy = FaultyDocker(home / "proxy.sock")
        started.callback(self.proxy.close)
        self.instance = DockerInstance(self.engine.url)
        started.callback(self.instance.client.close)  # all else goes with the engine
        self.service = self._serve(home, has_fake_clock=has_fake_clock)
        started.callback(self.service.close)
        self.witness = Witness(self.instance)
        started.callback(self.witness.close)

    def _serve(self, home: Path, *, has_fake_clock: bool) -> WholeService:
        site = Site(self.service_disk.path, self.instance)
        made = site.run("tests.chaos.matrix.offers", self.instance.image)
        assert made.returncode == 0, made.stderr
        direct = f":{self.postgres.port}/"
        self.direct_url = site.environment["DATABASE_URL"]
        site.environment |= {
            "DATABASE_URL": site.environment["DATABASE_URL"].replace(direct, f":{self.relays['database'].port}/"),
            "DOCKER_HOST": self.proxy.url,
            "BERTH_VERIFY_CREDENTIALS": "on",
            "BERTH_TELEGRAM_API": f"http://127.0.0.1:{self.relays['telegram'].port}",
            "BERTH_PROVIDER_API": f"http://127.0.0.1:{self.relays['provider'].port}/v1",
            "BERTH_EMAIL_URL": f"smtp://127.0.0.1:{self.relays['mail'].port}",
            "BERTH_BOOT_FIREWALL": "off",
            "BERTH_THREADS": "32",  # so that every verb of one user finds a place
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(self.service_disk.path),
        }
        if self.redis:
            site.environment["BERTH_CACHE_URL"] = f"redis://127.0.0.1:{self.relays['redis'].port}"
        self.clock = home / "clock"
        if has_fake_clock:
            assert LIBRARY
            set_clock(self.clock)
            site.environment |= faked_clock(self.clock)
        service = WholeService(site, {})
        service.start()
        return service

    def new_body(self, name: str, **more: object) -> dict[str, object]:
        """A good request for a project, with a bot of its own that Telegram knows."""
        token = f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_hex(16)}"
        self.telegram.add_bot(token)
        return {"name": name, "type": "bot", "plan": "chaos", "telegramToken": token, "apiKey": KEY} | more


@contextmanager
def new_installation(home: Path, *, has_fake_clock: bool = False, has_redis: bool = False) -> Iterator[Installation]:
    with ExitStack() as started:
        yield Installation(home, started, has_fake_clock=has_fake_clock, has_redis=has_redis)
