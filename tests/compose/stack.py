"""stack.yaml on one node of a Swarm, as an operator deploys it there."""

import os
import secrets
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path

from tests.compose.installation import POSTGRES, SOCKET
from tests.containers.swarm.cluster import SwarmNode
from tests.paths import ROOT

STACK = "berth"
LIMIT = 300


class Stack:
    """The part of an installation that `Walk` uses."""

    def __init__(self, node: SwarmNode, folder: Path, images: str) -> None:
        self.node, self.folder, self.name = node, folder, STACK
        self._variables = {
            "BERTH_IMAGE": f"berth:{images}",
            "POSTGRES_IMAGE": f"{POSTGRES}:{images}",
            "DOCKER_GID": str(Path(node.url.removeprefix("unix://")).stat().st_gid),
        }

    def docker(self, *words: str, said: str | None = None) -> str:
        done = subprocess.run(
            self.node.command("docker", *words),
            env={**os.environ, **self._variables, "DOCKER_HOST": self.node.url},
            cwd=self.folder, input=said, capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def prepare(self, **variables: str) -> None:
        """Does what the head of stack.yaml says, with this node's own socket."""
        socket, text = self.node.url.removeprefix("unix://"), (ROOT / "stack.yaml").read_text()
        (self.folder / "stack.yaml").write_text(text.replace(f"source: {SOCKET}", f"source: {socket}"))
        (self.folder / "stack.env").write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
        self.docker("node", "update", "--label-add", "berth.database=yes", self.node.node_id)
        password = secrets.token_hex(24)
        for name, value in {
            "postgres_password": password,
            "berth_database_url": f"postgresql://berth:{password}@postgres/berth",
            "berth_secret_key": secrets.token_hex(32),
            "berth_token_key": secrets.token_hex(32),
            "berth_encryption_keys": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        }.items():
            self.docker("secret", "create", name, "-", said=value)

    def deploy(self) -> None:
        self.docker("stack", "deploy", "--resolve-image", "never", "--compose-file", "stack.yaml", STACK)

    def container(self, service: str) -> str:
        return self.docker("ps", "-q", "-f", f"name={STACK}_{service}").split()[0]

    def run_node_script(self) -> None:
        """Runs the script so that it writes no files of its node's rules among those of this machine."""
        script = self.docker("exec", self.container("web"), "python", "manage.py", "node")
        for place, here in {"/run/berth-node": f"{self.node.home}/rules", "/run/systemd": "/nowhere"}.items():
            script = script.replace(place, here)
        path = self.folder / "berth-node.sh"
        path.write_text(script)
        environment = {**os.environ, "DOCKER_HOST": self.node.url}
        subprocess.run(self.node.command("sh", str(path)), env=environment, check=True, timeout=LIMIT)

    def describe(self) -> str:
        tasks = self.docker("stack", "ps", "--no-trunc", STACK)
        return tasks + "".join(
            self.docker("service", "logs", "--tail", "15", f"{STACK}_{name}") for name in ("web", "watcher", "postgres")
        )
