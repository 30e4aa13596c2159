"""A single host with agents, a Swarm of one node in a separate network, and the command that moves the agents there."""

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp

from containers.agent_reports import parse_time
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.servers.machines import KEYS
from tests.containers.inside import run_inside
from tests.containers.swarm.cluster import Cluster
from tests.containers.swarm.under_test import ACCEPTED, make_config_network
from tests.paths import ROOT
from tests.without_gateway import WITHOUT_GATEWAY

LIMIT = 400


class Hosts:
    """`folder` contains the database, in which both have the same rows."""

    def __init__(self, folder: Path, former: DockerInstance) -> None:
        self.folder, self.former = folder, former
        self.home = Path(mkdtemp(prefix="bs-"))  # short, because the path of a socket is limited
        self.cluster = Cluster(self.home, nodes=1)
        self.keys: list[str] = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BERTH_", "DATABASE_"))}
        network = f"{former.name}-agents"
        self._environment = kept | KEYS | WITHOUT_GATEWAY | {
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "CHAOS_DIR": str(folder),
            "BERTH_DATA_DIR": str(folder),
            "BERTH_INSTANCE": former.name,
            "BERTH_CONTAINER_NETWORK": network,
            "BERTH_ALLOWED_HOSTS": "testserver",
            "BERTH_VERIFY_CREDENTIALS": "off",
        }  # fmt: skip
        self._network = network

    def start(self, agents: int) -> None:
        """The agents run on the former host, and each remembers its key."""
        self.cluster.start()
        node = self.cluster.manager.client
        list(node.load_image(b"".join(self.former.client.get_image(self.former.image))))
        make_config_network(node, self._network)
        self._run("-m", "tests.chaos.inside.prepare", self.former.image)
        self.keys = self._run("-m", "tests.chaos.inside.deploy", str(agents)).split()
        for key in self.keys:
            run_inside(self.former.client, self.former.name_of(key), "sh", "-c", f"echo {key} > /data/memory")

    def move(self, *more: str) -> "subprocess.Popen[str]":
        """The command, under way. Its output is text."""
        former = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        there = {"BERTH_ENGINE": "swarm", "BERTH_SWARM_ACCEPT": ",".join(ACCEPTED)}
        return subprocess.Popen(
            [sys.executable, "manage.py", "migrate_engine", "--from", former, *more],
            cwd=ROOT, env=self._environment | there | {"DOCKER_HOST": self.cluster.manager.url},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=self._environment, capture_output=True, text=True, timeout=LIMIT,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def ended(self, key: str) -> datetime | None:
        """Returns when the agent ended on the former host; None while it runs there."""
        state = self.former.client.inspect_container(self.former.name_of(key))["State"]
        return None if state["Running"] else parse_time(state["FinishedAt"])

    def began(self, key: str) -> datetime | None:
        """Returns when its first container on the Swarm was started."""
        chosen = {"label": [f"{INSTANCE_LABEL}={self.former.name}", f"{PROJECT_LABEL}={key}"]}
        found = self.cluster.manager.client.containers(all=True, filters=chosen)
        states = [self.cluster.manager.client.inspect_container(each["Id"])["State"] for each in found]
        return min((at for state in states if (at := parse_time(state["StartedAt"]))), default=None)

    def remembers(self, key: str) -> str:
        """Returns what its memory contains where it runs now."""
        client = self.cluster.manager.client
        chosen = {"label": [f"{INSTANCE_LABEL}={self.former.name}", f"{PROJECT_LABEL}={key}"]}
        [found] = client.containers(filters=chosen)
        return run_inside(client, found["Id"], "cat", "/data/memory")[1].strip()

    def close(self) -> None:
        self.cluster.close()
