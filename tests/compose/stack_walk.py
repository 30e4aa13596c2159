"""Berth from stack.yaml on a Swarm, as an operator has it: `python -m tests.compose.stack_walk`, some minutes, as root.

A Swarm of one real engine in namespaces of its own gets the images of the usual one, the secrets and the script of
`manage.py node`; then it signs in, deploys an agent against fakes, chats with it through its node's gateway, stops and
starts it, kills the leading watcher and a web server, and takes everything away. `--images TAG` takes images that are
there as `berth:TAG` and `berth-test-postgres:TAG`; otherwise they are built as for the walk of compose.yaml.
"""

import argparse
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from containers.docker_api.building.image_build import GATEWAY, find_certificates
from tests.compose.installation import POSTGRES, Installation
from tests.compose.stack import LIMIT, STACK, Stack
from tests.compose.walk import PASSWORD, Walk, tell
from tests.containers.swarm.cluster import Cluster
from tests.containers.swarm.hub import SUBNET
from tests.e2e.service import EMAIL, Answer, Service, copy_checkout
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

AGENT, WORLD = "berth/assistant:latest", f"{SUBNET}.254"


class OnANode(Service):
    """The web server, which listens at the node's address."""

    @property
    def address(self) -> str:
        return f"http://{SUBNET}.1:8000"


class StackWalk(Walk):
    installation: Any

    def up(self) -> None:
        self.installation.deploy()
        wait_until(self.is_ready, within=LIMIT, every=1, what=self.installation.describe)

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        """If nobody listens at its port, says what the Swarm did with the web server."""
        try:
            return super().call(method, path, body)
        except OSError as error:
            raise AssertionError(f"{method} {path}: {error}\n{self.installation.describe()}") from error

    def kill(self, service: str) -> None:
        """Kills all of its processes with -9; the Swarm starts it again."""
        killed = self.installation.container(service)
        self.installation.docker("kill", "--signal", "KILL", killed)
        wait_until(lambda: self._is_another(service, killed), within=LIMIT, every=1)
        wait_until(self.is_ready, within=LIMIT, every=1, what=self.installation.describe)

    def _is_another(self, service: str, former: str) -> bool:
        found = self.installation.docker("ps", "-q", "-f", f"name={STACK}_{service}").split()
        return bool(found) and former not in found

    def control(self, project: str, action: str, status: str) -> Answer:
        answer = self.call("POST", f"/api/projects/{project}/control", {"action": action})
        self.wait_for(project, status)
        return answer


@contextmanager
def begun(images: str) -> Iterator[tuple[StackWalk, str]]:
    """From then on everything of this process is in the network between the nodes, including the fakes."""
    bot, key = f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_hex(16)}", f"sk-s-{secrets.token_hex(16)}"
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="bs-"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        cluster = Cluster(home, nodes=1)
        stack.callback(cluster.close)
        cluster.start()
        cluster.load([f"berth:{images}", f"{POSTGRES}:{images}", GATEWAY.image, AGENT])
        cluster._hub._enter()
        telegram = stack.enter_context(FakeTelegram(host=WORLD))
        provider = stack.enter_context(FakeProvider(host=WORLD))
        telegram.add_bot(bot, username="stack_bot")
        provider.add_key(key)
        folder = home / "operator"
        folder.mkdir()
        installation: Any = Stack(cluster.manager, folder, images)  # which is as the walk of compose wants it
        service = OnANode(folder, {}, checkout=folder)
        stack.callback(service.engine.close)
        installation.prepare(
            BERTH_PUBLIC_URL=service.address,
            BERTH_ADMIN_EMAIL=EMAIL,
            BERTH_ADMIN_PASSWORD=PASSWORD,
            BERTH_SWARM_ACCEPT="no-new-privileges,seccomp,swap",
            BERTH_TELEGRAM_API=telegram.url,
            BERTH_PROVIDER_API=provider.api_base,
            BERTH_EGRESS_ALLOW=",".join(f"{WORLD}/32:{each.port}" for each in (telegram, provider)),
        )
        yield StackWalk(installation, service, telegram, bot), key


@contextmanager
def built_images() -> Iterator[str]:
    """Returns the tag of the images."""
    tag = f"test-{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory(prefix="berth-stack-") as name:
        folder = Path(name)
        copy_checkout(folder)
        if certificates := find_certificates():
            shutil.copy(certificates, folder / "build-ca.crt")
        Installation(folder, {"BERTH_INSTANCE": STACK, "BERTH_TAG": tag}).build()
        try:
            yield tag
        finally:
            for each in ("berth", "berth-socket-proxy", POSTGRES):
                subprocess.run(["docker", "rmi", "--force", f"{each}:{tag}"], check=False, capture_output=True)


def walk(images: str) -> None:
    with begun(images) as (walk, key):
        walk.up()
        walk.sign_in()
        tell("The stack is up, and you are signed in.")
        walk.installation.run_node_script()
        tell("The script has set networks and rules on the node.")
        project = walk.deploy(key)
        tell(f"The agent runs behind its node's gateway, and answers: {walk.chat('Hello')}")
        for action, status in (("stop", "stopped"), ("start", "running")):
            walk.control(project, action, status)
        tell(f"It was stopped and started, and answers: {walk.chat('Back?')}")
        for service in ("watcher", "web"):
            walk.kill(service)
            walk.wait_for(project, "running")
            tell(f"The {service} was killed, and it answers: {walk.chat('Still there?')}")
        assert walk.call("DELETE", f"/api/projects/{project}").status == 204
        left = walk.installation.docker("service", "ls", "-q", "--filter", "label=berth.project").split()
        tell(f"Agents' services that are left: {left or 'none'}.")
        sys.exit(1 if left else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", default="")
    chosen = parser.parse_args().images
    with ExitStack() as stack:
        walk(chosen or stack.enter_context(built_images()))


if __name__ == "__main__":
    main()
