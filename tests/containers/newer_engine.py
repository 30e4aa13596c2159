"""The contract tests on the Docker of Debian trixie (26.1, API 1.45), for what engines say from API 1.44 on:

    .venv/bin/python -m tests.containers.newer_engine [pytest's arguments]

Like Docker 29, the engine refuses versions of its API before 1.44.

As root, with mmdebstrap: it makes a root file system with that engine, runs it in namespaces of its own, tells pytest
of it by DOCKER_HOST, and takes all away. Without arguments the tests are those of `tests/containers` that need no way
from this machine into the engine's network, half of them through the socket proxy; it takes minutes. NEWER_ENGINE_ROOT
names the root file system of another engine: with Debian forky's (28.5, API 1.51) all but one passed on
2026-12-01; that one asked too early, which has been corrected.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import docker

from tests.chaos.private_engine import PrivateEngine
from tests.paths import ROOT

SUITE, PACKAGES = "trixie", "docker.io,iptables,iproute2,ca-certificates"
TESTS = [
    f"tests/containers/test_{name}.py"
    for name in (
        "deploy",
        "verbs",
        "observe",
        "state",
        "volumes",
        "users",
        "logs_stats_and_events",
        "changed_by_others",
    )
]


def make_root(root: Path) -> None:
    source = f"deb http://deb.debian.org/debian {SUITE} main"
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(root), source]
    subprocess.run(command, check=True, timeout=900)


def enter(root: Path, home: Path) -> str:
    """Writes a script that continues as the engine in that root, with the folder of its socket and data at the same
    place.

    The root is a mount and not a chroot, in which an engine cannot unpack layers.
    """
    options = f"--host unix://{home}/docker.sock --data-root {home}/data --exec-root {home}/exec --pidfile {home}/pid"
    return f"""
        mount --make-rprivate /
        mount --bind {root} {root}
        mkdir -p {root}{home}
        mount --bind {home} {root}{home}
        mount --rbind /proc {root}/proc
        mount --rbind /sys {root}/sys
        mount --rbind /dev {root}/dev
        mkdir -p {root}/before
        cd {root}
        pivot_root . before
        umount --lazy /before
        export DOCKER_MIN_API_VERSION=1.44
        exec /usr/sbin/dockerd {options}
    """


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="berth-newer-") as folder:
        root, home = Path(os.environ.get("NEWER_ENGINE_ROOT") or f"{folder}/root"), Path(folder, "home")
        home.mkdir()
        if not root.exists():
            make_root(root)
        engine = PrivateEngine(home)
        try:
            engine.start(first=enter(root, home))
            client = docker.APIClient(base_url=engine.url, version="auto")
            told = client.version()
            client.close()
            sys.stdout.write(f"Docker {told['Version']}, API {told['ApiVersion']}\n")
            sys.stdout.flush()
            arguments = sys.argv[1:] or [*TESTS, "-m", "docker", "-q"]
            tests = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
            sys.exit(
                subprocess.run(tests, cwd=ROOT, env={**os.environ, "DOCKER_HOST": engine.url}, check=False).returncode
            )
        finally:
            engine.close()


if __name__ == "__main__":
    main()
