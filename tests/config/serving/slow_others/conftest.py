"""A web server with sixteen threads and the engine in memory.
Every server that it asks is behind something that can break."""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos.database.requests import Client
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.matrix.relay import Relay
from tests.chaos.server import Server, Site
from tests.config.serving.slow_others.name_server import NameServer
from tests.fakes.provider import FakeProvider
from tests.fakes.smtp import smtp_server
from tests.fakes.telegram import FakeTelegram
from tests.ports import reserve_port
from tests.waiting import wait_until

KEY = "sk-of-slow-others"
DRIP_EVERY = 0.3
"""Seconds between two bytes. No single read takes long, but an answer would take half a minute."""


class Scene:
    def __init__(self, home: Path, started: ExitStack) -> None:
        self.telegram = started.enter_context(FakeTelegram())
        self.provider = started.enter_context(FakeProvider())
        self.provider.add_key(KEY)
        self.relays = {
            "telegram": Relay(self.telegram.port, drip_every=DRIP_EVERY),
            "provider": Relay(self.provider.port, drip_every=DRIP_EVERY),
            "redis": Relay(_start_redis(home, started), drip_every=DRIP_EVERY),
            "mail": Relay(started.enter_context(smtp_server()).port, drip_every=DRIP_EVERY),
        }
        for relay in self.relays.values():
            started.callback(relay.close)
        self.names = NameServer(home)
        started.callback(self.names.close)
        self.server = self._serve(home)
        started.callback(self.server.kill)
        self.alice, self.bob = (
            Client(port=self.server.port, key=key, cookies={}) for key in json.loads(self.server.site.key)
        )

    def _serve(self, home: Path) -> Server:
        engine = SimpleNamespace(name="slow-others", image="berth/assistant:latest")
        site = Site(home, cast("DockerInstance", engine), prepared_by="tests.config.serving.slow_others.people")
        ports = {name: relay.port for name, relay in self.relays.items()}
        site.environment |= {
            "DJANGO_SETTINGS_MODULE": "tests.config.serving.slow_others.settings",
            "BERTH_WORKERS": "1",  # the engine is in its memory
            "BERTH_VERIFY_CREDENTIALS": "on",
            "BERTH_SIGNUP": "open",
            "BERTH_TELEGRAM_API": f"http://telegram.test:{ports['telegram']}",
            "BERTH_PROVIDER_API": f"http://127.0.0.1:{ports['provider']}/v1",
            "BERTH_CACHE_URL": f"redis://127.0.0.1:{ports['redis']}",
            "BERTH_EMAIL_URL": f"smtp://127.0.0.1:{ports['mail']}",
        }
        server = Server(site, {})
        server.arguments = ("-m", "tests.config.serving.slow_others.serve", str(self.names.resolv_conf))
        server.start()
        return server

    def new_body(self, name: str) -> dict[str, Any]:
        token = f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_hex(16)}"
        self.telegram.add_bot(token)
        return {"name": name, "type": "bot", "plan": "chaos", "telegramToken": token, "apiKey": KEY}


def _start_redis(home: Path, started: ExitStack) -> int:
    port = reserve_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home)]
    process = started.enter_context(
        subprocess.Popen(command, stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
    )
    started.callback(process.terminate)
    return port


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with ExitStack() as started:
        yield Scene(tmp_path_factory.mktemp("slow"), started)


@pytest.fixture
def healed(scene: Scene) -> Iterator[Scene]:
    """All is well before and after the test."""
    yield scene
    for relay in scene.relays.values():
        relay.heal()
    scene.names.is_silent = False
    for project in scene.alice.send("GET", "/api/projects").json:
        assert scene.alice.send("DELETE", f"/api/projects/{project['id']}").status == 204
    wait_until(lambda: scene.alice.send("GET", "/api/projects").json == [])
