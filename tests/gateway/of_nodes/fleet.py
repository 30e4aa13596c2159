"""A real Swarm of three nodes with a gateway on each, between fakes: what the service and its watcher do of it.

The rules and networks of the nodes are those of the script that `manage.py node` prints.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import combinations
from typing import TypeVar

import pytest
from django.conf import settings
from django.test import override_settings

from containers.docker_api.building.image_build import GATEWAY
from containers.firewall.node_script import CONFIG
from containers.gateway.vocabulary import PORT
from containers.identity import network_name
from containers.swarm.nodes.liveness import GOSSIP_PORT
from projects.models import AgentType, Project
from projects.models.columns.gateway import VIRTUAL_TOKEN
from projects.watcher.gateway.leases import EVERY, Round
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.clients import api_of, make_person
from tests.containers.swarm.cluster import SwarmNode
from tests.containers.swarm.hub import SUBNET
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.deploying import PROJECT
from tests.engines import connect
from tests.fakes.provider import FakeProvider
from tests.gateway.image import ensure_gateway_image
from tests.gateway.of_nodes.world import AGENT_IMAGE, ASK, RememberingTelegram, make_agent_image, run_node_script

T = TypeVar("T")

WORLD = f"{SUBNET}.254"
CHAT = 77
KEY = "sk-CANARYkeyCANARYkeyCANARYkey000001"
LOOK_EVERY = 5.0
GATEWAY_HOST = "10.231.0.1"
"""The gateway's address on each node: the first address of `BERTH_SWARM_SUBNET`."""


class Fleet:
    def __init__(self, swarm: Swarm) -> None:
        self.swarm, self.cluster = swarm, swarm.cluster
        self.telegram, self.provider = RememberingTelegram(WORLD), FakeProvider(host=WORLD)
        self.leader = Round()
        self._look_at = 0.0
        self._numbers = iter(range(700_000_001, 700_001_000))

    @contextmanager
    def open(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["Fleet"]:
        """The engine of the services, and the fake servers in the network between the nodes."""
        monkeypatch.setattr("containers.gateway.tls_transport.open_socket", self.cluster.open_socket)
        hub = self.cluster._hub.sockets
        with self.swarm.settings(monkeypatch):
            for fake in (self.telegram, self.provider):
                hub.submit(fake.start).result()
            where = {"BERTH_TELEGRAM_API": self.telegram.url, "BERTH_PROVIDER_API": self.provider.api_base}
            try:
                with override_settings(BERTH_GATEWAY=True, BERTH_GATEWAY_ON_EACH_NODE=True, **where):
                    yield self
            finally:
                self.telegram.stop()
                self.provider.stop()

    def prepare(self) -> None:
        """Installs images and the script on each node, as an operator does."""
        make_agent_image(self.cluster.manager.client)
        self.cluster.share([AGENT_IMAGE])
        for node in self.cluster.nodes:
            node.client.remove_network(f"{network_name()}{CONFIG}")  # which is not that of the script
            run_node_script(node)

    def deploy(self) -> Project:
        """Creates a project of Alice's with a bot of its own, through the API."""
        token = f"{next(self._numbers)}:CANARYtokenCANARYtokenCANARY00001"
        self.telegram.add_bot(token)
        self.provider.add_key(KEY)
        AgentType.objects.filter(slug="assistant").update(image=AGENT_IMAGE)
        self.api = api_of(make_person("alice"))
        answer = self.api.post("/api/projects", PROJECT | {"telegramToken": token, "apiKey": KEY})
        assert answer.status_code == 201, answer.content
        self.token = token
        self.project = Project.objects.get(pk=answer.json()["id"])
        return self.project

    def control(self, project: Project, action: str) -> None:
        answer = self.api.post(f"/api/projects/{project.pk}/control", {"action": action})
        assert answer.status_code == 200, answer.content

    def watch(self) -> None:
        """Does what the watcher's threads do for gateways: one round, and checks at intervals."""
        with suppress(Exception):  # as its threads go on
            self.leader.run()
        if time.monotonic() >= self._look_at:
            look_after_gateway()  # what goes wrong at the engine, it keeps as a warning
            self._look_at = time.monotonic() + LOOK_EVERY

    def watch_until(self, condition: Callable[[], T], *, within: float, what: str) -> T:
        began = time.monotonic()
        while not (found := condition()):
            assert time.monotonic() < began + within, f"{what} (not within {within:g} s): {self.describe()}"
            time.sleep(EVERY / 4)
            self.watch()
        return found

    def watch_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.watch()
            time.sleep(EVERY / 4)

    def describe(self) -> str:
        rows = list(Project.objects.values_list("desired", "gateway_node", "leaves_node", "entry_version"))
        tasks = [
            (task.get("NodeID"), task["DesiredState"], task["Status"]["State"], task["Status"].get("Err"))
            for task in self.cluster.manager.client.tasks()
        ]
        return f"{rows} {tasks} {self.telegram.polls_of[-5:]}"

    def answers(self, text: str, *, within: float) -> float:
        """Returns the seconds until the agent has answered this question."""
        began, asked = time.monotonic(), len(self.telegram.sent(self.token))
        self.telegram.say(self.token, CHAT, text)
        self.watch_until(lambda: len(self.telegram.sent(self.token)) > asked, within=within, what="No answer")
        return time.monotonic() - began

    def node_of(self, project: Project) -> SwarmNode:
        """Returns the node whose gateway admits the agent."""
        held = Project.objects.get(pk=project.pk).gateway_node
        return next(node for node in self.cluster.nodes if node.node_id == held)

    def settle_on_a_worker(self, project: Project) -> None:
        """Moves the agent away from the manager, which must stay up so that the test sees what happens."""
        manager = self.cluster.manager
        if self.node_of(project) is manager:
            self.cluster.set_availability(manager, "drain")
            self.watch_until(lambda: self.node_of(project) is not manager, within=120, what="It stays")
            self.cluster.set_availability(manager, "active")
        report(f"answers {self.answers('here?', within=120):.1f} s later on {self.node_of(project).name}")

    def ask_in_its_name(self, project: Project, node: SwarmNode) -> int:
        """Returns the status with which the gateway of this node answers a request with the agent's credential."""
        project.refresh_from_db()
        path = f"http://{GATEWAY_HOST}:{PORT}/tg/bot{project.decrypt_virtual(VIRTUAL_TOKEN)}/getMe"
        # The bridge goes with its last agent, and the gateway listens at its address all the same.
        address = ["address", "add", f"{GATEWAY_HOST}/32", "dev", "lo"]
        subprocess.run(node.command("ip", *address), check=True)
        try:
            return int(subprocess.check_output(node.command(sys.executable, "-c", ASK, path)))
        finally:
            address[1] = "del"
            subprocess.run(node.command("ip", *address), check=True)

    def kill_gateway(self, node: SwarmNode) -> None:
        [found] = node.client.containers(filters={"label": ["berth.gateway"]})
        node.client.kill(found["Id"], signal="SIGKILL")

    def cut(self, node: SwarmNode, do: str = "-I") -> None:
        """Cuts a node off from the manager and the service, in both directions. It still reaches the internet."""
        manager = self.cluster.manager.address
        ours = [
            ["INPUT", "-s", WORLD, "-p", "tcp", "--dport", str(port)]
            for port in (settings.BERTH_SWARM_GATEWAY_PORT, GOSSIP_PORT)
        ]
        for chain, *words in (["INPUT", "-s", manager], ["OUTPUT", "-d", manager], *ours):
            subprocess.run(node.command("iptables", "-w", do, chain, *words, "-j", "DROP"), check=True)

    def require_one_poller(self) -> None:
        """Checks that the Bot API has never seen two polls at once, not even for a moment."""
        for (one, begin, end), (other, also_begin, also_end) in combinations(self.telegram.polls_of, 2):
            assert one == other or end <= also_begin or also_end <= begin, "Two of them at once."


@contextmanager
def fleet(monkeypatch: pytest.MonkeyPatch, *, heartbeat: float = 5.0) -> Iterator[Fleet]:
    usual = connect()
    ensure_gateway_image(usual)
    usual.close()
    with some_nodes(3, heartbeat=heartbeat) as swarm:
        swarm.cluster.load([GATEWAY.image])
        made = Fleet(swarm)
        with made.open(monkeypatch):
            made.prepare()
            yield made


def report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
