"""A separate engine, the open ports ("doors") around it, and an agent that tries them from its first moment on.

The machine is a separate network namespace. A forbidden address on its `lo` has an open door.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.identity import container_name, own_labels
from containers.vocabulary import PROJECT_LABEL, ContainerSpec
from tests.busybox import pack_root
from tests.chaos.private_engine import PrivateEngine
from tests.child_servers import child_server
from tests.engines import connect
from tests.security.inside import doors
from tests.waiting import wait_until

METADATA, PUBLIC = "169.254.169.254", "11.77.0.2"
IMAGE = "berth-test/knocker:latest"
KNOCKER = rf"""#!/bin/sh
trap 'exit 0' TERM
echo "begun"
while :; do
  for address in {METADATA} {PUBLIC}; do
    test "$(nc -w 1 $address {doors.PORT} </dev/null)" = hello && echo "reached $address" || echo "refused $address"
  done
  sleep 0.1
done
"""


class Machine:
    """The engine, the doors around it, and one agent that tries them."""

    def __init__(self, engine: PrivateEngine, stack: ExitStack) -> None:
        self.engine = engine
        self.client: Any = None
        self._stack = stack
        self.key = str(uuid4())
        self.name = container_name(self.key)
        self.spec = ContainerSpec(
            name=self.name,
            image=IMAGE,
            labels={**own_labels(), PROJECT_LABEL: self.key, "berth.owner": "alice"},
            generation=1,
            environment={},
            secrets={"telegram_bot_token": "12:ab"},
            memory=64 << 20,
            nano_cpus=500_000_000,
            pids=32,
            stop_timeout=1,
        )

    def boot(self, *, first: str = "") -> None:
        # The door is open before the engine begins, so anything that runs too early finds it open.
        self.engine.start(first=f"ip addr add {METADATA}/32 dev lo\n{first}")
        self._open_door(*self.engine.command())
        self.client = connect(self.engine.url)
        self._connect_to_the_world()

    def shut_down(self) -> None:
        self._stack.close()
        self.client.close()
        self.engine.end(signal.SIGTERM)

    def reboot(self, *, first: str = "") -> None:
        self.shut_down()
        self.boot(first=first)

    def deploy(self, engine: DockerEngine) -> None:
        engine.deploy(self.spec, confirm=lambda: True)

    def is_running(self) -> bool:
        return bool(self.client.inspect_container(self.name)["State"]["Running"])

    def answers(self, *, since: int = 0) -> list[str]:
        """Returns what the agent has printed in its present run, from this line on."""
        lines = self.client.logs(self.name).decode().splitlines()
        begun = len(lines) - lines[::-1].index("begun") if "begun" in lines else len(lines)
        return list(lines[begun:])[since:]

    def reached(self, *, knocks: int = 6) -> set[str]:
        """Returns the addresses that it reaches from now on, after this many attempts."""
        since = len(self.answers())
        wait_until(lambda: len(self.answers(since=since)) >= knocks, within=120)
        return {line.split()[1] for line in self.answers(since=since)[1:] if line.startswith("reached")}

    def ever_reached(self) -> set[str]:
        return {line.split()[1] for line in self.answers() if line.startswith("reached")}

    def _connect_to_the_world(self) -> None:
        world = f"w{uuid4().hex[:6]}"
        run("ip", "netns", "add", world)
        self._stack.callback(run, "ip", "netns", "del", world)
        run("ip", "-n", world, "link", "add", f"{world}a", "type", "veth", "peer", "name", "eth0")
        run("ip", "-n", world, "link", "set", f"{world}a", "netns", str(self.engine.pid))
        for command in (
            f"ip addr add 11.77.0.1/30 dev {world}a",
            f"ip link set {world}a up",
        ):
            run(*self.engine.command(*command.split()))
        for command in (
            f"ip -n {world} addr add {PUBLIC}/30 dev eth0",
            f"ip -n {world} link set eth0 up",
            f"ip -n {world} route add default via 11.77.0.1",
        ):
            run(*command.split())
        self._open_door("nsenter", f"--net=/run/netns/{world}")

    def _open_door(self, *prefix: str) -> None:
        command = [*prefix, sys.executable, "-m", doors.__name__, str(doors.PORT)]
        self._stack.enter_context(child_server(command))


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def make_machine() -> Iterator[Machine]:
    """Its engine is at `machine.engine.url`."""
    engine = PrivateEngine(Path(mkdtemp(prefix="bf-")))
    with override_settings(BERTH_INSTANCE=f"b{uuid4().hex[:8]}"), ExitStack() as stack:
        made = Machine(engine, stack)
        try:
            made.boot()
            made.client.import_image_from_data(
                pack_root({"agent": KNOCKER}, applets=("sh", "nc", "echo", "sleep", "test")),
                repository=IMAGE.partition(":")[0],
                tag="latest",
                changes=['CMD ["/agent"]', "ENV PATH=/bin"],
            )
            yield made
        finally:
            stack.close()
            if made.client:
                for found in made.client.containers(all=True):
                    made.client.remove_container(found["Id"], force=True, v=True)
                made.client.close()
            engine.close()
