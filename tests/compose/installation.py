"""Berth from compose.yaml, in a copy of the checkout, with images that are built on this machine.

Debian's docker.io has no compose plugin. This uses the distribution's `docker-compose` (1.29.2 in bookworm; `apt-get
install docker-compose`), or `docker compose` if there is one.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from containers.docker_api.building.base_image import DEBIAN_BASE
from containers.docker_api.building.image_build import find_certificates
from tests.e2e.service import copy_checkout
from tests.leftovers import remove_from_engine
from tests.paths import ROOT

SOCKET = Path("/var/run/docker.sock")
POSTGRES = "berth-test-postgres"
BUILD_LIMIT, LIMIT = 1800, 600


def compose_command() -> list[str]:
    """Raises `RuntimeError` if there is none."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    raise RuntimeError("There is no compose here: apt-get install docker-compose")


class Installation:
    def __init__(self, checkout: Path, environment: Mapping[str, str]) -> None:
        self.checkout = checkout
        self.name = environment["BERTH_INSTANCE"]
        self.environment = environment
        (checkout / ".env").write_text("".join(f"{name}={value}\n" for name, value in environment.items()))

    def compose(self, *words: str, within: int = LIMIT) -> str:
        """Returns the output. Raises `CalledProcessError`."""
        done = subprocess.run(
            [*compose_command(), "--project-name", self.name, *words],
            cwd=self.checkout,
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/root"), "DOCKER_BUILDKIT": "0"},
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def build(self) -> None:
        """Builds in the network of the engine's host, by which this machine reaches its packages."""
        tag, base = self.environment["BERTH_TAG"], f"PYTHON_IMAGE={DEBIAN_BASE}"
        build = ["docker", "build", "--quiet", "--network", "host", "--build-arg"]
        folder = ROOT / "tests/compose/postgres"
        for words in (
            [base, "--target", "socket-proxy", "--tag", f"berth-socket-proxy:{tag}", str(self.checkout)],
            [base, "--tag", f"berth:{tag}", str(self.checkout)],
            [f"BASE_IMAGE={DEBIAN_BASE}", "--tag", f"{POSTGRES}:{tag}", str(folder)],
        ):
            without_kit = {**os.environ, "DOCKER_BUILDKIT": "0"}
            subprocess.run([*build, *words], check=True, timeout=BUILD_LIMIT, env=without_kit)


@contextmanager
def installed(folder: Path, port: int, **variables: str) -> Iterator[Installation]:
    """The images are built, and nothing runs yet. At the end everything is removed except layers of images."""
    tag = f"test-{secrets.token_hex(4)}"
    copy_checkout(folder)
    if certificates := find_certificates():
        shutil.copy(certificates, folder / "build-ca.crt")
    installation = Installation(
        folder,
        {
            "BERTH_INSTANCE": f"c-{secrets.token_hex(4)}",
            "BERTH_TAG": tag,
            "BERTH_PUBLIC_URL": f"http://127.0.0.1:{port}",
            "BERTH_ALLOWED_HOSTS": "127.0.0.1",
            "WEB_ADDRESS": f"127.0.0.1:{port}",
            "POSTGRES_PASSWORD": secrets.token_hex(24),
            "POSTGRES_IMAGE": f"{POSTGRES}:{tag}",
            "PYTHON_IMAGE": DEBIAN_BASE,
            "DOCKER_GID": str(SOCKET.stat().st_gid),
            **variables,
        },
    )
    try:
        installation.build()
        yield installation
    finally:
        installation.compose("down", "--volumes", "--remove-orphans")
        remove_from_engine(installation.name)
        for name in ("berth", "berth-socket-proxy", POSTGRES):
            subprocess.run(["docker", "rmi", "--force", f"{name}:{tag}"], check=False, capture_output=True)
