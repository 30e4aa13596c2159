"""A Docker Swarm for tests: several engines, each in its own network namespace, joined by a bridge.

The images come from the usual engine, which is not touched otherwise. Needs root, `unshare`, `nsenter`, `ip` and
`dockerd`.
"""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import docker

from tests.chaos.private_engine import PrivateEngine
from tests.containers.swarm.hub import SUBNET, Hub
from tests.containers.swarm.processes import descendants, find_processes
from tests.engines import connect
from tests.waiting import wait_until


class SwarmNode(PrivateEngine):
    """One engine of the Swarm. Each start creates its network again, with the same address."""

    registries = f"{SUBNET}.0/24"

    def __init__(self, home: Path, number: int, hub: Hub) -> None:
        super().__init__(home)
        home.mkdir(parents=True)
        self._spaces.append("--uts")
        self._hub = hub
        self.name = f"node{number}"
        self.port = f"n{number}"
        self.address = f"{SUBNET}.{number}"
        self.node_id = ""
        self._client: docker.APIClient | None = None

    def start(self, *, first: str = "") -> None:
        """Starts the engine and waits until it answers. `first` is a shell script that runs in its network before."""
        hub = f"nsenter --net=/proc/{self._hub.pid}/ns/net"
        super().start(
            first=f"""
            hostname {self.name}
            {hub} ip link del {self.port} 2>/dev/null || true
            ip link add eth0 type veth peer name {self.port} netns {self._hub.pid}
            {hub} ip link set {self.port} master swarm up
            ip address add {self.address}/24 dev eth0
            ip link set eth0 up
            ip route add default via {SUBNET}.254
            {first}"""
        )

    @property
    def client(self) -> Any:
        if self._client is None:
            self._client = connect(self.url)
        return self._client

    @property
    def is_there(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Ends the engine and all processes of its containers at once, like a power cut."""
        shims = find_processes(str(self.home / "exec"))
        families = [child for shim in shims for child in descendants(shim)]
        self.end(signal.SIGKILL)
        for pid in [*shims, *families]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        if self.is_there:
            self.kill()
        super().close()


class Cluster:
    """The nodes of a Swarm. The first `managers` of them are managers, and Berth talks to the first one."""

    def __init__(self, home: Path, *, nodes: int = 3, managers: int = 1) -> None:
        self._hub = Hub()
        self.open_socket = self._hub.open_socket
        self.in_hub = self._hub.command
        self._home = home
        self._managers = managers
        self.nodes = [SwarmNode(home / f"n{number}", number, self._hub) for number in range(1, nodes + 1)]

    @property
    def manager(self) -> SwarmNode:
        return self.nodes[0]

    def start(self, *, heartbeat: float = 5.0) -> None:
        """Starts all nodes. `heartbeat`: seconds between two heartbeats. A node that misses three or four is down."""
        for node in self.nodes:
            node.start()
        manager = self.manager
        manager.client.init_swarm(
            advertise_addr=manager.address,
            listen_addr=f"{manager.address}:2377",
            swarm_spec={"Dispatcher": {"HeartbeatPeriod": int(heartbeat * 1e9)}},
        )
        for number, node in enumerate(self.nodes[1:], 2):
            self._join(node, "Manager" if number <= self._managers else "Worker")
        for node in self.nodes:
            node.node_id = node.client.info()["Swarm"]["NodeID"]
            wait_until(partial(self.is_ready, node), within=30)

    def _join(self, node: SwarmNode, role: str = "Worker") -> None:
        token = self.manager.client.inspect_swarm()["JoinTokens"][role]
        node.client.join_swarm(
            remote_addrs=[f"{self.manager.address}:2377"], join_token=token, listen_addr=f"{node.address}:2377"
        )

    def add(self) -> SwarmNode:
        """Adds a worker, which has neither images nor the agents' network."""
        number = len(self.nodes) + 1
        node = SwarmNode(self._home / f"n{number}", number, self._hub)
        self.nodes.append(node)
        node.start()
        self._join(node)
        node.node_id = node.client.info()["Swarm"]["NodeID"]
        wait_until(lambda: self.is_ready(node), within=30)
        return node

    def load(self, images: Iterable[str]) -> None:
        """Copies these images from the usual engine to each node, where they have the same ids."""
        usual = connect()
        try:
            for image in images:
                archive = b"".join(usual.get_image(image))
                for node in self.nodes:
                    list(node.client.load_image(archive))
        finally:
            usual.close()

    def share(self, images: Iterable[str]) -> None:
        """Copies these images from the manager to all other nodes."""
        for image in images:
            archive = b"".join(self.manager.client.get_image(image))
            for node in self.nodes[1:]:
                list(node.client.load_image(archive))

    def kill(self, node: SwarmNode) -> None:
        node.kill()

    def revive(self, node: SwarmNode) -> None:
        """Starts a killed node again, without its networks: some are half created, and the engine would refuse them."""
        (node.home / "data" / "network" / "files" / "local-kv.db").unlink(missing_ok=True)
        node.start()
        wait_until(lambda: self.is_ready(node), within=60)

    def leader(self) -> SwarmNode:
        """Returns the manager that leads, according to the manager that Berth talks to."""
        rows = self.manager.client.nodes(filters={"role": "manager"})
        found = next(row["ID"] for row in rows if row["ManagerStatus"].get("Leader"))
        return next(node for node in self.nodes if node.node_id == found)

    def cut(self, node: SwarmNode) -> None:
        """Cuts the node off from the network, in both directions. Its engine and its containers keep running."""
        self._hub.run("ip", "link", "set", node.port, "down")

    def mend(self, node: SwarmNode) -> None:
        self._hub.run("ip", "link", "set", node.port, "up")

    def set_availability(self, node: SwarmNode, availability: str) -> None:
        """Sets the availability of a node: `active`, `pause` or `drain`."""
        found = self.manager.client.inspect_node(node.node_id)
        spec = {**found["Spec"], "Availability": availability}
        self.manager.client.update_node(node.node_id, found["Version"]["Index"], node_spec=spec)

    def is_ready(self, node: SwarmNode) -> bool:
        with suppress(docker.errors.APIError):
            return bool(self.manager.client.inspect_node(node.node_id)["Status"]["State"] == "ready")
        return False

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        self._hub.close()
