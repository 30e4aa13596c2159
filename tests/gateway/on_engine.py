"""A gateway and agents in real containers, with fake servers as their upstreams."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from cryptography.fernet import Fernet
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.gateway.entries import (
    BotEntry,
    Budget,
    Entry,
    ProviderEntry,
    ProviderKind,
    ServersEntry,
    Spent,
    new_virtual_key,
    new_virtual_token,
)
from containers.gateway.protocol import GatewayClient
from containers.gateway.vocabulary import AgentsNetwork, GatewayAddress, GatewaySpec, Reach
from containers.identity import container_name, gateway_name, own_labels
from containers.vocabulary import PROJECT_LABEL, ContainerSpec
from tests.containers.inside import run_inside
from tests.engines import address_of_host, connect
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.asking import ASK
from tests.gateway.image import ensure_gateway_image
from tests.instances import note_instance
from tests.leftovers import remove_from_engine

PATIENCE = 100.0
ASSISTANT = "berth/assistant:latest"


@dataclass
class DeployedAgent:
    """`token` and `key` are the real credentials, which the container never gets."""

    number: int
    address: str
    reach: Reach = Reach.INTERNET
    hosts: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    spent: tuple[Spent, ...] = ()
    project: str = ""
    version: int = 0
    token: str = ""
    key: str = ""
    virtual_token: str = ""
    servers: ServersEntry | None = None
    virtual_key: str = field(default_factory=lambda: new_virtual_key(ProviderKind.OPENAI))

    def __post_init__(self) -> None:
        bot = 760_000_000 + self.number
        self.project = str(UUID(int=uuid4().int))
        self.token = f"{bot}:CANARYtokenCANARYtokenCANARY{self.number:06}"
        self.key = f"sk-CANARYkeyCANARYkeyCANARYkey{self.number:06}"
        self.virtual_token = new_virtual_token(bot)

    @property
    def name(self) -> str:
        return container_name(self.project)


class GatewayTestbed:
    """A gateway on a real engine between fake servers. Its instance name is unique, and is used to remove it."""

    def __init__(self, *, name_servers: tuple[str, ...] = ()) -> None:
        self.name_servers = list(name_servers)
        self.instance = note_instance(f"gw-{uuid4().hex[:8]}")
        self.client: Any = connect()
        self.engine = DockerEngine()
        host = address_of_host()
        self.telegram = FakeTelegram(host=host)
        self.provider = FakeProvider(host=host)
        self.spec = GatewaySpec(key=Fernet.generate_key().decode())
        self.numbers = count(1)
        self.network: AgentsNetwork
        self.address: GatewayAddress
        self.warning: str | None = None

    @contextmanager
    def open(self) -> Iterator["GatewayTestbed"]:
        with self.settings(), self.telegram, self.provider:
            try:
                ensure_gateway_image(self.client)
                self.warning = self.engine.ensure_firewall()
                self.address = self.engine.ensure_gateway(self.spec)
                self.network = self.engine.agents_network()
                yield self
            finally:
                remove_from_engine(self.instance)
                self.client.close()

    def settings(self) -> override_settings:
        return override_settings(
            BERTH_INSTANCE=self.instance,
            BERTH_CONTAINER_NETWORK=f"{self.instance}-agents",
            BERTH_DNS=self.name_servers,
        )

    @property
    def control(self) -> GatewayClient:
        return GatewayClient(self.engine.gateway(), within=PATIENCE)

    def new_agent(self, reach: Reach = Reach.INTERNET) -> DeployedAgent:
        """Returns an agent whose bot and key the fake servers know, and of which the gateway does not know yet."""
        number = next(self.numbers)
        agent = DeployedAgent(number, str(self.network.addresses(reach)[number + 10]), reach)
        self.telegram.add_bot(agent.token)
        self.provider.add_key(agent.key)
        return agent

    def tell(self, agent: DeployedAgent) -> None:
        agent.version += 1
        bot = BotEntry(virtual_token=agent.virtual_token, token=agent.token, base=self.telegram.url)
        provider = ProviderEntry(
            virtual_key=agent.virtual_key, key=agent.key, kind=ProviderKind.OPENAI, base=self.provider.api_base
        )
        entry = Entry(
            project=agent.project,
            address=agent.address if self.address.knows_sources else None,
            bot=bot,
            provider=provider,
            servers=agent.servers,
            hosts=frozenset(agent.hosts),
            budget=agent.budget,
            spent=agent.spent,
        )
        assert self.control.apply(version=agent.version, entries=[entry]) == {agent.project: agent.version}

    def settle(self, reach: Reach = Reach.INTERNET) -> DeployedAgent:
        """Starts an agent that polls."""
        agent = self.new_agent(reach)
        self.tell(agent)
        self.deploy(agent)
        try:
            self.telegram.wait_for_poll(agent.token, timeout=PATIENCE)
        except TimeoutError as error:
            said = [self.client.logs(name, tail=30).decode(errors="replace") for name in (agent.name, gateway_name())]
            raise TimeoutError("\n".join(said)) from error
        return agent

    def void(self, agent: DeployedAgent) -> None:
        agent.version += 1
        assert self.control.apply(version=agent.version, void=[agent.project]) == {agent.project: agent.version}

    def deploy(
        self, agent: DeployedAgent, *, image: str = ASSISTANT, more: dict[str, str] | None = None, **changes: Any
    ) -> None:
        """Starts an agent with files and addresses as the service would set them. `more` are further variables."""
        values: dict[str, Any] = {
            "name": agent.name,
            "image": image,
            "labels": {**own_labels(), PROJECT_LABEL: agent.project, "berth.owner": "alice"},
            "generation": 1,
            "environment": {
                "TELEGRAM_API_BASE": f"{self.address.url}/tg",
                "AGENT_API_BASE": f"{self.address.url}/llm/v1",
                **(more or {}),
            },
            "secrets": {"telegram_bot_token": agent.virtual_token, "agent_api_key": agent.virtual_key},
            "memory": 256 << 20,
            "nano_cpus": 500_000_000,
            "pids": 64,
            "stop_timeout": 5,
            "address": agent.address,
            "reach": agent.reach,
        }
        self.engine.deploy(ContainerSpec(**values | changes), confirm=lambda: True)

    def ask_from(
        self, agent: DeployedAgent, url: str, headers: dict[str, str] | None = None, body: object = None
    ) -> str:
        """Returns status and body of a request from inside the agent's container; status 0 if there is no answer."""
        asked = json.dumps([url, headers or {}, json.dumps(body) if body is not None else None, 20])
        return run_inside(self.client, agent.name, "/opt/agent/bin/python3", "-c", ASK, asked)[1]

    def ask_from_here(self, url: str, headers: dict[str, str] | None = None) -> str:
        """Returns the answer to the same request from this machine."""
        command = [sys.executable, "-c", ASK, json.dumps([url, headers or {}, None, 20])]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def get_me(self, agent: DeployedAgent) -> str:
        return f"{self.address.url}/tg/bot{agent.virtual_token}/getMe"

    def calls_of(self, agent: DeployedAgent) -> int:
        """Returns how often the upstreams were called with the agent's real credentials."""
        return len(self.telegram.calls(agent.token)) + sum(each.key == agent.key for each in self.provider.asked(None))
