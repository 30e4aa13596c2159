"""`make upgrade` as an operator says it, from the last release, with agents that run and somebody who always reads.

    .venv/bin/python -m tests.upgrade.whole_run                  # from the last release, on the engine of DOCKER_HOST
    .venv/bin/python -m tests.upgrade.whole_run --from 6ae3093   # from this commit
    .venv/bin/python -m tests.upgrade.whole_run --alone          # on an engine and in a network of its own, as root

It takes the checkout of the release out of the history, says `make run` in it, deploys agents, puts this version in its
place and says `make upgrade`. It prints what the reader saw of each step, and ends with 1 where a read failed that need
not have, or an agent was touched. With `--alone` no images are built, and packages come from the cache of uv.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.chaos.own_network import enter_own_network
from tests.chaos.private_engine import PrivateEngine
from tests.chaos.stub import STUB_PROJECT, make_image
from tests.e2e.service import Service, copy_checkout, make_environment
from tests.e2e.settling import settle, sign_in
from tests.leftovers import remove_leftovers
from tests.upgrade.releases import LAST
from tests.waiting import wait_until

AGENTS = 5
OFFER = """
from projects.models import AgentType, Plan
from tests.chaos.inside.prepare import add_offers
add_offers(AgentType, Plan, {image!r})
"""
KEPT = {".venv", "var"}
"""What of an installation is no part of the checkout."""


class Reader(threading.Thread):
    """Reads the list of agents and a page, each over a connection of its own. `longest` is in seconds."""

    def __init__(self, service: Service, token: str) -> None:
        super().__init__(daemon=True)
        self._service, self._token = service, token
        self._ended = threading.Event()
        self.seen: Counter[str] = Counter()
        self.longest = 0.0

    def run(self) -> None:
        while not self._ended.wait(0.05):
            for path in ("/api/projects", "/sign-in", "/healthz"):
                began = time.monotonic()
                try:
                    word = str(self._service.call("GET", path, token=self._token).status)
                except OSError as error:
                    word = type(error).__name__
                self.seen[word] += 1
                self.longest = max(self.longest, time.monotonic() - began)

    def __enter__(self) -> "Reader":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="commit", default=LAST.commit)
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    if options.alone:
        enter_own_network("tests.upgrade.whole_run")
    with tempfile.TemporaryDirectory(prefix="bu-") as home, ExitStack() as started:
        checkout = Path(home) / "checkout"
        checkout.mkdir()
        if options.alone:
            engine = PrivateEngine(Path(home) / "engine", own_network=False)
            engine.home.mkdir()
            started.callback(engine.close)
            engine.start()
            os.environ |= {"DOCKER_HOST": engine.url, "UV_OFFLINE": "1"}
        unpack(options.commit, checkout, builds_images=not options.alone)
        if options.alone:
            give_environment(checkout)
        environment = make_environment(
            Path(home), telegram="http://127.0.0.1:1", provider="http://127.0.0.1:1", allow=[]
        )
        # What takes the leftovers away reads the settings of the service.
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "BERTH_DATA_DIR": environment["BERTH_DATA_DIR"]}
        service = Service(Path(home), environment, checkout=checkout)
        started.callback(remove_leftovers, environment)
        started.callback(service.engine.close)
        started.callback(service.interrupt_if_running)
        return upgrade(service, builds_images=not options.alone)


def unpack(commit: str, checkout: Path, *, builds_images: bool) -> None:
    archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", checkout], input=archive, check=True)
    leave_images(checkout, builds_images=builds_images)


def leave_images(checkout: Path, *, builds_images: bool) -> None:
    if not builds_images:
        for name in ("run", "upgrade"):
            script = checkout / "config" / "bin" / name
            if script.exists():
                script.write_text(script.read_text().replace("\nensure_images\n", "\n"))


def give_environment(checkout: Path) -> None:
    """A virtual environment with uv in it, which no cache has."""
    subprocess.run([sys.executable, "-m", "venv", checkout / ".venv"], check=True)
    shutil.copy2(Path(sys.executable).parent / "uv", checkout / ".venv" / "bin" / "uv")


def update(checkout: Path, *, builds_images: bool) -> None:
    """As `git pull` does: files that are no more go, the others are replaced."""
    for path in checkout.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    copy_checkout(checkout)
    leave_images(checkout, builds_images=builds_images)


def upgrade(service: Service, *, builds_images: bool) -> int:
    service.start()
    tell(f"Serves: {version_of(service)}")
    image = make_image(service.engine, service.environment["BERTH_INSTANCE"])
    service.manage("shell", "-c", OFFER.format(image=image))
    token = sign_in(service)
    for number in range(AGENTS):
        body: dict[str, Any] = STUB_PROJECT | {"name": f"Agent {number}"}
        settle(service, token, service.call("POST", "/api/projects?wait=30", body, token))
    runs = started_at(service)
    update(service.checkout, builds_images=builds_images)
    wrong = step(service, token, "make upgrade, from the release", may_be_refused=True)
    if version_of(service) != service.manage("version").split()[-1]:
        restart(service, token)
    wrong += step(service, token, "make upgrade, to itself")
    after = started_at(service)
    untouched = sum(after.get(each) == moment for each, moment in runs.items())
    statuses = Counter(each["status"] for each in service.call("GET", "/api/projects", token=token).json)
    tell(f"Serves: {version_of(service)}; agents: {dict(statuses)}, not touched: {untouched} of {AGENTS}")
    return 1 if wrong or after != runs or statuses != {"running": AGENTS} else 0


def step(service: Service, token: str, title: str, *, may_be_refused: bool = False) -> int:
    """Returns how many reads failed."""
    with Reader(service, token) as reader:
        wait_until(lambda: reader.seen.total() > 20)
        began = time.monotonic()
        done = subprocess.run(
            ["make", "upgrade"],
            cwd=service.checkout, env=service.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        took, wanted = time.monotonic() - began, reader.seen.total() + 60
        wait_until(lambda: reader.seen.total() > wanted, within=120)
    last = (done.stdout + done.stderr).strip().splitlines()[-2:]
    tell(
        f"{title}: exit {done.returncode} after {took:.0f} s; {dict(reader.seen)}, slowest {reader.longest:.1f} s",
        *last,
    )
    is_done = done.returncode == 0 or (may_be_refused and "hand over" in done.stderr)
    return reader.seen.total() - reader.seen["200"] + (not is_done)


def restart(service: Service, token: str) -> None:
    """Where the release cannot hand over: Ctrl-C, and `make run` again. Reads fail meanwhile, and are counted only."""
    with Reader(service, token) as reader:
        began = time.monotonic()
        service.interrupt()
        service.start()
        took = time.monotonic() - began
    tell(f"Ctrl-C and make run: away for at most {took:.0f} s; {dict(reader.seen)}")


def started_at(service: Service) -> dict[str, str]:
    return {each: service.engine.inspect_container(each)["State"]["StartedAt"] for each in service.containers()}


def version_of(service: Service) -> str:
    return service.call("GET", "/healthz").headers.get("X-Berth-Version", "from before there were versions")


def tell(*lines: str) -> None:
    print("\n    ".join(lines), flush=True)  # noqa: T201 - the output of the command


if __name__ == "__main__":
    sys.exit(main())
