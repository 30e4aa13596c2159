"""Three network namespaces in a row: an agent, a router with the rules, and a machine that answers at every address."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from socket import AF_INET, AF_INET6
from typing import Any
from uuid import uuid4

import pytest

from containers.firewall import iptables, jumps
from containers.firewall.rules import RuleSet, make_rules
from containers.firewall.script import as_script
from containers.programs import run_program
from tests.child_servers import child_server
from tests.containers.firewall import inside_router
from tests.containers.firewall.inside_router import NAME_SERVERS
from tests.paths import ROOT

PORT = 8199
AGENT, NEIGHBOUR, GATEWAY = "11.99.0.2", "11.99.0.3", "11.99.0.1"
AGENT_6, GATEWAY_6 = "2a01:99::2", "2a01:99::1"
AGENT_LINK, GATEWAY_LINK = "02:00:00:00:00:02", "02:00:00:00:00:01"


@dataclass(frozen=True)
class Router:
    """`bridge` is the name of the interface of the router that leads to the agent."""

    name: str
    bridge: str

    def rules(self, *, allow: Iterable[tuple[str, int | None]] = (), resolvers: Iterable[str] = ()) -> list[RuleSet]:
        return make_rules(bridge=self.bridge, allow=allow, resolvers=resolvers)

    def set_rules(self, **options: Any) -> None:
        """Runs the script that operators get, on the router."""
        script = as_script(self.rules(**options))
        subprocess.run(self.on("router", "sh"), input=script.encode(), check=True, capture_output=True)

    def remember(self) -> int:
        """Returns how many connections the router's kernel remembers."""
        shown = subprocess.run(
            self.on("router", "cat", "/proc/sys/net/netfilter/nf_conntrack_count"), capture_output=True, check=True
        )
        return int(shown.stdout)

    def remove_rules(self) -> None:
        """Leaves a rule like Docker's, because of which the kernel tracks connections."""
        for program in ("iptables", "ip6tables"):
            for command in ("-F", "-X", "-A FORWARD -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT"):
                subprocess.run(self.on("router", program, "-w", *command.split()), check=True)

    def as_agent(self, verb: str, **arguments: Any) -> Any:
        """Returns what the function of `inside_router` returns if the agent calls it."""
        command = self.as_agent_command(verb, **arguments)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def as_agent_command(self, verb: str, **arguments: Any) -> list[str]:
        return self.on("agent", sys.executable, "-m", inside_router.__name__, verb, json.dumps(arguments))

    def on(self, place: str, *command: str) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.name}{place}", *command]


@contextmanager
def make_router() -> Iterator[Router]:
    name = f"r{uuid4().hex[:5]}"
    router = Router(name, f"berth-{uuid4().hex[:8]}")
    try:
        for place in ("agent", "router", "world"):
            run(f"ip netns add {name}{place}")
            run(f"ip -n {name}{place} link set lo up")
        _connect(router, "agent", "eth0", router.bridge)
        _connect(router, "world", "eth0", "uplink")
        _give_addresses(router)
        router.remove_rules()
        with _answering(router):
            yield router
    finally:
        for place in ("agent", "router", "world"):
            subprocess.run(["ip", "netns", "del", f"{name}{place}"], check=False, capture_output=True)


def _connect(router: Router, place: str, there: str, here: str) -> None:
    run(f"ip -n {router.name}router link add {here} type veth peer name {there} netns {router.name}{place}")
    run(f"ip -n {router.name}router link set {here} up")
    run(f"ip -n {router.name}{place} link set {there} up")


def _give_addresses(router: Router) -> None:
    agent, here, world = (f"ip -n {router.name}{place}" for place in ("agent", "router", "world"))
    for line in (
        # The rules refuse the questions by which IPv6 finds its neighbours, like everything else to the host.
        f"{agent} link set eth0 address {AGENT_LINK}",
        f"{here} link set {router.bridge} address {GATEWAY_LINK}",
        f"{agent} -6 neigh add {GATEWAY_6} lladdr {GATEWAY_LINK} dev eth0 nud permanent",
        f"{here} -6 neigh add {AGENT_6} lladdr {AGENT_LINK} dev {router.bridge} nud permanent",
        f"{agent} addr add {AGENT}/24 dev eth0",
        f"{agent} addr add {NEIGHBOUR}/24 dev eth0",
        f"{agent} addr add {AGENT_6}/64 dev eth0 nodad",
        f"{here} addr add {GATEWAY}/24 dev {router.bridge}",
        f"{here} addr add {GATEWAY_6}/64 dev {router.bridge} nodad",
        f"{agent} route add default via {GATEWAY}",
        f"{agent} -6 route add default via {GATEWAY_6}",
        f"{here} addr add 11.98.0.1/24 dev uplink",
        f"{here} addr add 2a01:98::1/64 dev uplink nodad",
        f"{world} addr add 11.98.0.2/24 dev eth0",
        f"{world} addr add 2a01:98::2/64 dev eth0 nodad",
        f"{here} route add default via 11.98.0.2",
        f"{here} -6 route add default via 2a01:98::2",
        f"{world} route add 11.99.0.0/24 via 11.98.0.1",
        f"{world} -6 route add 2a01:99::/64 via 2a01:98::1",
        # Every other address belongs to this machine.
        f"{world} addr add {NAME_SERVERS[AF_INET]} dev lo",
        f"{world} addr add {NAME_SERVERS[AF_INET6]} dev lo nodad",  # otherwise it is not there at once
        f"{world} route add local 0.0.0.0/0 dev lo table main",
        f"{world} -6 route add local ::/0 dev lo table main",
    ):
        run(line)
    for place in ("agent", "router", "world"):
        for setting in ("ipv4/ip_forward=1", "ipv6/conf/all/forwarding=1", "ipv4/conf/all/rp_filter=0"):
            path, _, value = setting.partition("=")
            subprocess.run(router.on(place, "sh", "-c", f"echo {value} > /proc/sys/net/{path}"), check=True)


def _answering(router: Router) -> AbstractContextManager[None]:
    command = router.on("world", sys.executable, "-m", inside_router.__name__, "answer", json.dumps({"port": PORT}))
    return child_server(command)


def run(line: str) -> None:
    subprocess.run(line.split(), check=True, capture_output=True)


def work_on(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `iptables` of this process change the router, as if that were this machine."""
    real = run_program

    def on_router(name: str, *arguments: str, seconds: float, given: str | None = None) -> str:
        return real(*router.on("router", name, *arguments), seconds=seconds, given=given)

    monkeypatch.setattr(iptables, "run_program", on_router)
    monkeypatch.setattr(jumps, "run_program", on_router)
    monkeypatch.setattr(iptables, "bridges_to_guard", lambda: [router.bridge])
    monkeypatch.setattr(iptables, "is_on_this_host", lambda: True)
    monkeypatch.setattr(iptables, "read_resolvers", list)
