"""How much the API adds to what the engine itself takes: deploy and stop, among 0, 100 and 300 other containers.

    python -m tests.benchmarks.deploy [--rounds 25] [--others 0 100 300] [--rest 1] [--gateway]

Each round does the same to the engine twice, by hand (docker's low-level client, the same create payload) and through
the API, in turn, so that both see the same machine. Raw deploy comes in two kinds: create and start alone, and with the
delivery of the secrets (an archive put into the container's volume), which every deploy of ours includes. Each agent
runs for `--rest` seconds before it is stopped: just after a start the watcher limits its look-ups of names. With
`--gateway` each round also goes through a second server, whose agents are behind the gateway.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from containers.docker.secrets import pack_secrets
from containers.hardening import container_payload
from containers.vocabulary import INSTANCE_LABEL, ContainerSpec
from tests import busybox
from tests.benchmarks import harness
from tests.benchmarks.harness import Client, Server, UnexpectedAnswerError, manage, median_ratio, print_row, timed
from tests.containers.rootfs import make_images
from tests.engines import connect


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--others", type=int, nargs="*", default=[0, 100, 300])
    parser.add_argument("--rest", type=float, default=1.0, help="seconds between a deploy and the stop")
    parser.add_argument("--gateway", action="store_true", help="the same with the gateway, and what it adds")
    options = parser.parse_args()
    if not busybox.BUSYBOX.exists():
        sys.stderr.write(
            f"{busybox.BUSYBOX} is missing. Install it (on Debian and Ubuntu: apt install busybox-static).\n"
        )
        sys.exit(2)
    raw = Raw(options.rest)
    image = raw.make_image()
    print_row(
        "others", "raw ms", "raw+secrets ms", "API ms", "API/raw", "API/raw+secrets", "stop raw ms", "stop API/raw",
        *(["gateway ms", "gateway/API", "stop gateway/API"] if options.gateway else []),
    )  # fmt: skip
    try:
        with ExitStack() as stack:
            server = stack.enter_context(harness.serving(image=image))
            behind = stack.enter_context(serving_gateway(image)) if options.gateway else None
            stack.callback(raw.clean_up)  # before the network goes, which it shares
            raw.prepare(server)
            for others in options.others:
                raw.surround(others)
                measure(raw, server, behind, others=others, rounds=options.rounds)
    finally:
        raw.client.close()


@contextmanager
def serving_gateway(image: str) -> Iterator[Server]:
    """A second server, and its gateway."""
    with harness.serving(image=image, environment={"BERTH_GATEWAY": "on"}) as server:
        manage(server, "build_images", "gateway", "--no-pull")
        api_round(server.connect(), 0)  # which has the gateway made, unless the watcher has
        yield server


def measure(raw: "Raw", server: Server, behind: Server | None, *, others: int, rounds: int) -> None:
    client, second = server.connect(), behind.connect() if behind else None
    figures: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 2):
        took = raw.round(with_secrets=False), raw.round(with_secrets=True), api_round(client, number, raw.rest)
        with_gateway = api_round(second, number, raw.rest) if second else (0.0, 0.0)
        if number < 2:  # warm-up
            continue
        figures["gateway"].append(with_gateway[0])
        figures["gateway stop"].append(with_gateway[1])
        figures["raw"].append(took[0][0])
        figures["sealed"].append(took[1][0])
        figures["api"].append(took[2][0])
        figures["raw stop"].append(took[0][1])
        figures["api stop"].append(took[2][1])
    medians = {name: statistics.median(values) for name, values in figures.items()}
    ratio = [
        "{1:.2f} ({0:.2f}-{2:.2f})".format(*median_ratio(figures[ours], figures[theirs]))
        for ours, theirs in (
            ("api", "raw"),
            ("api", "sealed"),
            ("api stop", "raw stop"),
            ("gateway", "api"),
            ("gateway stop", "api stop"),
        )
    ]
    print_row(
        others,
        *(f"{medians[name]:.0f}" for name in ("raw", "sealed", "api")),
        *ratio[:2],
        f"{medians['raw stop']:.0f}",
        ratio[2],
        *([f"{medians['gateway']:.0f}", *ratio[3:]] if behind else []),
    )


def api_round(client: Client, number: int, rest: float = 0.0) -> tuple[float, float]:
    body = {
        "name": "bench",
        "type": "stub",
        "plan": "bench",
        "telegramToken": f"{uuid4().int % 10**15}:{number}",
        "apiKey": "sk-bench",
    }
    client.connect_anew()
    deploy, project = timed(lambda: client.ask("POST", "/api/projects", body, 201))
    path = f"/api/projects/{project['id']}"
    time.sleep(rest)
    stop, answer = timed(lambda: client.ask("POST", f"{path}/control", {"action": "stop"}, 200))
    if answer["status"] != "stopped":
        raise UnexpectedAnswerError(f"After a stop the agent is called {answer['status']}.")
    client.ask("DELETE", path, None, 202, 204)  # 202: the watcher goes on with it
    return deploy, stop


class Raw:
    """The same by hand."""

    def __init__(self, rest: float = 0.0) -> None:
        """Each agent runs for `rest` seconds."""
        self.client: Any = connect()
        self.rest = rest
        self.mark = f"bench-raw-{uuid4().hex[:8]}"
        self.spec: ContainerSpec
        self.network = ""
        self.others: list[str] = []

    def make_image(self) -> str:
        return make_images(self.client, "bench")[0]

    def prepare(self, server: Server) -> None:
        """The network that our containers use, and a specification like theirs."""
        warm = server.connect()
        api_round(warm, 0)
        chosen = {"label": [f"{INSTANCE_LABEL}={server.instance}"]}
        self.network = self.client.networks(filters=chosen)[0]["Name"]
        self.spec = ContainerSpec(
            name=self.mark,
            image="berth-test/busybox:bench",
            labels={"berth.bench": self.mark, "berth.project": "x", "berth.owner": "x"},
            generation=1,
            environment={"TELEGRAM_API_BASE": "https://api.telegram.org", "AGENT_PROVIDER": "openai"},
            secrets={"telegram_bot_token": "1:x", "agent_api_key": "sk-bench"},
            memory=64 << 20,
            nano_cpus=250_000_000,
            pids=128,
            stop_timeout=10,
        )

    def create(self, name: str) -> None:
        payload = container_payload(replace(self.spec, name=name), network=self.network, runtime="")
        self.client.create_container_from_config(payload, name)

    def round(self, *, with_secrets: bool) -> tuple[float, float]:
        name = f"{self.mark}-one"

        def deploy() -> None:
            self.create(name)
            if with_secrets:
                self.client.put_archive(name, "/run/secrets", pack_secrets(self.spec.secrets, group=self.spec.user))
            self.client.start(name)

        took, _ = timed(deploy)
        time.sleep(self.rest)
        stopped, _ = timed(lambda: self.client.stop(name, timeout=10))
        self.client.remove_container(name, force=True)
        for volume in (f"{name}-data", f"{name}-secrets"):
            self.client.remove_volume(volume, force=True)
        return took, stopped

    def surround(self, count: int) -> None:
        for number in range(len(self.others), count):
            name = f"{self.mark}-other-{number}"
            self.create(name)
            self.others.append(name)
            self.client.start(name)

    def clean_up(self) -> None:
        for container in self.client.containers(all=True, filters={"label": f"berth.bench={self.mark}"}):
            self.client.remove_container(container["Id"], force=True)
        for volume in self.client.volumes(filters={"name": self.mark})["Volumes"] or []:
            self.client.remove_volume(volume["Name"], force=True)


if __name__ == "__main__":
    main()
