"""A whole installation, and everything that it depends on, each behind something that can break."""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from containers.docker.gateway.payload import LABEL as GATEWAY_LABEL
from tests.chaos.agreement import Agreement
from tests.chaos.clock import LIBRARY, faked_clock, set_clock
from tests.chaos.database.postgres import PrivatePostgres
from tests.chaos.database.requests import Client
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.matrix.gateway_image import bring_gateway_image, read_gateway_image
from tests.chaos.matrix.names import DOMAIN, NameServer
from tests.chaos.matrix.redis import PrivateRedis
from tests.chaos.matrix.relay import Relay
from tests.chaos.matrix.whole_service import WholeService
from tests.chaos.matrix.witness import Witness
from tests.chaos.memory_disk import MemoryDisk
from tests.chaos.private_engine import PrivateEngine
from tests.chaos.server import Site
from tests.fakes.faulty_docker import FaultyDocker
from tests.fakes.provider import FakeProvider
from tests.fakes.smtp import SmtpServer, smtp_server
from tests.fakes.telegram import FakeTelegram

KEY = "sk-chaos-matrix"
ENGINE_DISK = "300m"
DATABASE_DISK = "400m"
SERVICE_DISK = "40m"
ENGINE_DISK_WITH_GATEWAY = "900m"
"""Disks of their own, so that they can be filled."""


class Installation:
    """The service with its own database, engine, Telegram, provider, mail server and Redis."""

    def __init__(self, home: Path, started: ExitStack, kind: str) -> None:
        """`started` ends everything that it starts, the latest first."""
        self.kind = kind
        started.enter_context(
            patch.dict(os.environ)
        )  # the next installation finds the usual engine and database again while `DOCKER_HOST` names the usual engine
        packed = read_gateway_image() if kind == "gateway" else b""  # while `DOCKER_HOST` is that of the usual engine
        self.names: NameServer | None = None
        if kind == "names":
            self.names = NameServer(home)
            started.callback(self.names.close)
        self.engine = PrivateEngine(home / "engine", own_network=False)
        (home / "engine").mkdir()
        self.engine_disk = MemoryDisk(home / "engine" / "data", ENGINE_DISK_WITH_GATEWAY if packed else ENGINE_DISK)
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
        self.telegram_dial = ""
        """The fault of every bot that is created from now on."""
        self.provider = started.enter_context(FakeProvider())
        self.provider.add_key(KEY)
        self.mail: SmtpServer = started.enter_context(smtp_server())
        self.relays = {
            "database": Relay(self.postgres.port),
            "telegram": Relay(self.telegram.port),
            "provider": Relay(self.provider.port),
            "mail": Relay(self.mail.port),
        }
        self.redis = PrivateRedis(home) if kind == "redis" else None
        if self.redis:
            started.callback(self.redis.end)
            self.redis.start()
            self.relays["redis"] = Relay(self.redis.port)
        for relay in self.relays.values():
            started.callback(relay.close)
        self.proxy = FaultyDocker(home / "proxy.sock")
        started.callback(self.proxy.close)
        self.instance = DockerInstance(self.engine.url)
        started.callback(self.instance.client.close)  # everything else ends with the engine
        if packed:
            bring_gateway_image(packed, self.instance.client)
        self.service = self._make_service(home)
        started.callback(self.service.close)  # even if it does not become ready in time
        self.service.start()
        client = Client(port=self.service.port, key=self.service.site.key, cookies={})
        self.agreement = Agreement(self.service.port, [client], self.direct_url)
        self.witness = Witness(self.instance)
        started.callback(self.witness.close)

    def _make_service(self, home: Path) -> WholeService:
        site = Site(self.service_disk.path, self.instance)
        temporary = self.service_disk.path / "tmp"
        temporary.mkdir()
        # The service does not write it, because tests of a full disk do not include the test's own notes.
        (self.service_disk.path / "history").symlink_to(home / "history")
        made = site.run("tests.chaos.matrix.offers", self.instance.image)
        assert made.returncode == 0, made.stderr
        direct = f"@127.0.0.1:{self.postgres.port}/"
        self.direct_url = site.environment["DATABASE_URL"]
        assert direct in self.direct_url
        site.environment |= {
            "DATABASE_URL": self.direct_url.replace(direct, f"@{self._address('database')}/"),
            "DOCKER_HOST": self.proxy.url,
            "BERTH_VERIFY_CREDENTIALS": "on",
            "BERTH_TELEGRAM_API": f"http://{self._address('telegram')}",
            "BERTH_PROVIDER_API": f"http://{self._address('provider')}/v1",
            "BERTH_EMAIL_URL": f"smtp://{self._address('mail')}",
            "BERTH_BOOT_FIREWALL": "off",
            "BERTH_THREADS": "32",  # so that every verb of one user gets a place
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(temporary),
        }
        if self.redis:
            site.environment["BERTH_CACHE_URL"] = f"redis://{self._address('redis')}"
        if self.kind == "gateway":
            site.environment["BERTH_GATEWAY"] = "on"
        self.clock = home / "clock"
        if self.kind == "clock":
            assert LIBRARY
            set_clock(self.clock)
            site.environment |= faked_clock(self.clock)
        return WholeService(site, {})

    def _address(self, server: str) -> str:
        """Returns the address under which the service knows a server behind a relay."""
        host = f"{server}.{DOMAIN}" if self.names else "127.0.0.1"
        return f"{host}:{self.relays[server].port}"

    def gateway_container(self) -> str:
        """Returns the id of the running one."""
        [found] = self.instance.client.containers(filters={"label": [f"{GATEWAY_LABEL}={self.instance.name}"]})
        return str(found["Id"])

    def new_body(self, name: str, **more: object) -> dict[str, object]:
        """Returns a valid request for a project, with a bot of its own that Telegram knows."""
        token = f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_hex(16)}"
        self.telegram.add_bot(token)
        if self.telegram_dial:
            getattr(self.telegram, self.telegram_dial)(token)
        return {"name": name, "type": "bot", "plan": "chaos", "telegramToken": token, "apiKey": KEY} | more


@contextmanager
def new_installation(home: Path, kind: str = "") -> Iterator[Installation]:
    """`kind`: "clock" with libfaketime, "redis" with Redis, "names" with a name server, "gateway" with a gateway.

    "processes" is the usual kind, if the kernel limits the processes of groups.
    """
    with ExitStack() as started:
        yield Installation(home, started, kind)
