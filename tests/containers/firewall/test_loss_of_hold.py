"""Other firewalls and people take the hold from our rules, in every way; afterwards packets are refused again.

A router of three network namespaces has Docker's chains and ours. What counts are packets: in each case the agent
reaches a private address first, so that it is the mending that keeps it out.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from containers.firewall import iptables
from containers.firewall.path import comes_to, parse_chains, read_step
from containers.firewall.rules import leads_to_rules
from containers.programs import is_root, run_program
from tests.containers.firewall.router import PORT, Router, make_router

PRIVATE, PRIVATE_6 = "10.1.2.3", "fd00::5"

DOCKER = """
iptables -w -N DOCKER-USER
iptables -w -A DOCKER-USER -j RETURN
iptables -w -A FORWARD -j DOCKER-USER
iptables -w -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
iptables -w -A FORWARD -o {bridge} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
iptables -w -A FORWARD -i {bridge} ! -o {bridge} -j ACCEPT
iptables -w -P FORWARD DROP
"""
"""As a Docker engine leaves it."""

CLEAN = """
for program in iptables ip6tables; do
  printf '*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT\nCOMMIT\n' | $program-restore -w
done
ip6tables -w -A FORWARD -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT
"""

KNOCK = f"""
import socket, sys
for address in sys.argv[1:]:
    try:
        socket.create_connection((address, {PORT}), 4).close()
    except OSError:
        continue
    print(address)
"""

RELOAD = """\
for table in raw mangle nat filter security; do
  $program -w -t $table -F 2>/dev/null || continue
  $program -w -t $table -X
done
$program -w -N FIREWALL-IN
$program -w -A FIREWALL-IN -m conntrack --ctstate NEW,ESTABLISHED,RELATED -j ACCEPT
$program -w -A FORWARD -j FIREWALL-IN
$program -w -A INPUT -j FIREWALL-IN
$program -w -P FORWARD ACCEPT
"""
BEHIND = "$program -w -D {parent} {rule} || :; $program -w -A {parent} -j ACCEPT; $program -w -A {parent} {rule}"
"""Our jump stands behind an exception."""

LOSSES = {
    "FORWARD is flushed": "$program -w -F FORWARD; $program -w -P FORWARD ACCEPT",
    "FORWARD is flushed, and all is let through": "$program -w -F FORWARD; $program -w -A FORWARD -j ACCEPT",
    "DOCKER-USER is flushed": "$program -w -F DOCKER-USER || $program -w -F FORWARD; $program -w -P FORWARD ACCEPT",
    "everything is flushed": "$program -w -F; $program -w -P FORWARD ACCEPT",
    "everything is flushed and removed": "$program -w -F; $program -w -X; $program -w -P FORWARD ACCEPT",
    "our chains are flushed": "for chain in {chains}; do $program -w -F $chain; done; $program -w -P FORWARD ACCEPT",
    "one rule of ours is gone": "$program -w -D {forwarded} -d {network} -j {refused}; $program -w -P FORWARD ACCEPT",
    "our jump is gone": "$program -w -D {parent} {rule}; $program -w -P FORWARD ACCEPT",
    "our jump is behind an exception": BEHIND,
    "an exception comes first": "$program -w -I FORWARD 1 -j ACCEPT",
    "an exception for our bridge comes first": "$program -w -I FORWARD 1 -i {bridge} -j ACCEPT",
    "an exception for all bridges comes first": "$program -w -I FORWARD 1 -i berth-+ -j ACCEPT",
    "an exception for connections comes first": "$program -w -I FORWARD 1 -m conntrack --ctstate NEW,ESTABLISHED "
    "-j ACCEPT",
    "another chain lets through": "$program -w -N THEIRS; $program -w -A THEIRS -j ACCEPT; "
    "$program -w -I FORWARD 1 -j THEIRS",
    "another chain returns too early": "$program -w -I {parent} 1 -j RETURN; $program -w -P FORWARD ACCEPT; "
    "$program -w -I FORWARD 2 -j ACCEPT",
    "another chain is gone to": "$program -w -N THEIRS; $program -w -I FORWARD 1 -g THEIRS; "
    "$program -w -P FORWARD ACCEPT",
    "everything is written anew": "printf '*filter\\n:INPUT ACCEPT\\n:FORWARD ACCEPT\\n:OUTPUT ACCEPT\\nCOMMIT\\n' | "
    "$program-restore -w",
    "another firewall is loaded": RELOAD,
}
"""Shell scripts for each program. After any of them the agent reaches private addresses."""

HARMLESS = {
    "nothing": ":",
    "raw is flushed": "$program -w -t raw -F",
    "the policy drops": "$program -w -P FORWARD DROP",
    "the policy accepts": "$program -w -P FORWARD ACCEPT",
    "something is logged first": "$program -w -I FORWARD 1 -m comment --comment 'a -j ACCEPT' -j MARK --set-mark 1",
    "an exception for another interface comes first": "$program -w -I FORWARD 1 -i eth7 -j ACCEPT",
    "everything is dropped first": "$program -w -I FORWARD 1 -j DROP",
}

can_filter = pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
)


class Place:
    """The router as the host of an engine, on which this process sets rules."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def begin(self) -> None:
        self.run(f"{CLEAN}{DOCKER.format(bridge=self.router.bridge)}")
        assert iptables.apply_rules() is None
        assert iptables.rules_hold()

    def lose(self, script: str) -> None:
        for rules in self.router.rules():
            parent = "DOCKER-USER" if rules.program == "iptables" else "FORWARD"
            words = {
                "bridge": self.router.bridge,
                "chains": " ".join(rules.chains),
                "forwarded": rules.hooks[0].chain,
                "refused": next(iter(rules.chains)),
                "network": "10.0.0.0/8" if rules.program == "iptables" else "fc00::/7",
                "parent": parent,
                "rule": rules.hooks[0].rule,
            }
            text = script
            for word, value in words.items():
                text = text.replace(f"{{{word}}}", value)
            self.run(f"program={rules.program}\n{text}")

    def run(self, script: str) -> None:
        done = subprocess.run(
            self.router.on("router", "sh", "-c", script), capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, (script, done.stderr)

    def reached(self) -> set[str]:
        command = self.router.on("agent", sys.executable, "-ISc", KNOCK, PRIVATE, PRIVATE_6)
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return set(done.stdout.split())


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with make_router() as made:
        yield made


@pytest.fixture
def place(router: Router, monkeypatch: pytest.MonkeyPatch) -> Place:
    """`iptables` of this process work on the router."""
    real = run_program

    def on_router(name: str, *arguments: str, seconds: float, given: str | None = None) -> str:
        return real(*router.on("router", name, *arguments), seconds=seconds, given=given)

    monkeypatch.setattr(iptables, "run_program", on_router)
    monkeypatch.setattr(iptables, "bridges_to_guard", lambda: [router.bridge])
    monkeypatch.setattr(iptables, "is_on_this_host", lambda: True)
    monkeypatch.setattr(iptables, "read_resolvers", list)
    made = Place(router)
    made.begin()
    return made


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("way", LOSSES)
def test_whatever_takes_the_hold_from_the_rules_is_seen_and_mended(place: Place, way: str) -> None:
    place.lose(LOSSES[way])
    assert PRIVATE in place.reached()
    assert not iptables.rules_hold()
    assert iptables.apply_rules() is None
    assert iptables.rules_hold()
    assert place.reached() == set()


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("way", LOSSES)
def test_the_script_for_operators_mends_it_too(place: Place, way: str) -> None:
    place.lose(LOSSES[way])
    place.router.set_rules()
    [rules, _] = place.router.rules()
    assert leads_to_rules(iptables.list_chains("iptables"), rules)
    assert PRIVATE not in place.reached()


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("way", HARMLESS)
def test_what_takes_nothing_from_them_is_left_alone(place: Place, way: str) -> None:
    place.lose(HARMLESS[way])
    assert iptables.rules_hold()
    assert "drop" in way or place.reached() == set()


@pytest.mark.docker
@can_filter
def test_where_docker_comes_back_the_packets_are_counted_once(place: Place) -> None:
    """After a flush our jump is the first of all; after Docker's next start it need not be."""
    place.lose(LOSSES["FORWARD is flushed"])
    assert iptables.apply_rules() is None
    place.run("iptables -w -I FORWARD 1 -j DOCKER-USER")
    assert iptables.apply_rules() is None
    [rules, _] = place.router.rules()
    chains = iptables.list_chains("iptables")
    assert chains["FORWARD"].count(rules.hooks[0].rule) == 0
    assert chains["DOCKER-USER"].count(rules.hooks[0].rule) == 1
    assert iptables.rules_hold()


BRIDGE, TARGET = "berth-1", "OURS"
WAYS: dict[str, tuple[str, bool]] = {
    "the jump alone": ("-i berth-1 -j OURS", True),
    "the jump for all": ("-j OURS", True),
    "the jump for some": ("-i berth-1 -s 10.0.0.0/8 -j OURS", False),
    "the jump for others": ("-i berth-2 -j OURS", False),
    "the jump for all but others": ("! -i berth-2 -j OURS", True),
    "the jump for all but these": ("! -i berth-1 -j OURS", False),
    "a wildcard": ("-i berth-+ -j OURS", True),
    "any interface": ("-i + -j OURS", True),
    "a comment": ('-m comment --comment "x -j ACCEPT" -j OURS', True),
    "nothing": ("", False),
    "all is dropped": ("-j DROP", True),
    "all is accepted": ("-j ACCEPT\n-j OURS", False),
    "others are accepted": ("-i eth0 -j ACCEPT\n-i berth-1 -j OURS", True),
    "some are accepted": ("-p tcp -j ACCEPT\n-i berth-1 -j OURS", False),
    "some are dropped": ("-p tcp -j DROP\n-i berth-1 -j OURS", True),
    "some are queued": ("-p tcp -j NFQUEUE --queue-num 1\n-i berth-1 -j OURS", False),
    "some go nobody knows where": ("-p tcp -j ELSEWHERE\n-i berth-1 -j OURS", False),
    "all are logged": ('-j LOG --log-prefix "x"\n-i berth-1 -j OURS', True),
    "some return": ("-p tcp -j RETURN\n-i berth-1 -j OURS", False),
    "all return": ("-j RETURN\n-i berth-1 -j OURS", False),
    "counted only": ("-p tcp\n-i berth-1 -j OURS", True),
    "through a chain": ("-j HARMLESS\n-j LEADS", True),
    "through a chain for some": ("-p tcp -j LEADS", False),
    "past a chain that accepts": ("-j OPENS\n-i berth-1 -j OURS", False),
    "past a chain that accepts others": ("-i eth0 -j OPENS\n-i berth-1 -j OURS", True),
    "gone to a chain that leads": ("-g LEADS", True),
    "gone to a chain that does not": ("-g HARMLESS\n-j OURS", False),
    "round and round": ("-j ROUND\n-j OURS", False),
    "a quote that does not end": ('-m comment --comment "x -j ACCEPT\n-i berth-1 -j OURS', False),
}


@pytest.mark.parametrize("way", WAYS)
def test_packets_are_followed_as_far_as_they_go_for_certain(way: str) -> None:
    text, comes = WAYS[way]
    lines = [
        "-P FORWARD ACCEPT",
        *(f"-N {chain}" for chain in (TARGET, "HARMLESS", "LEADS", "OPENS", "ROUND")),
        *(f"-A FORWARD {rule}" for rule in text.splitlines()),
        "-A HARMLESS -p udp -j LOG",
        "-A HARMLESS -p udp -j RETURN",
        "-A LEADS -i berth-1 -j OURS",
        "-A OPENS -p udp -j ACCEPT",
        "-A ROUND -j ROUND",
    ]
    assert comes_to(parse_chains("\n".join(lines)), TARGET, hook="FORWARD", bridge=BRIDGE) == comes


NO_RULES = ["", "!", "-j", "-i", "! -i", "-m comment --comment", "-A", '"', "\\", "-j -j", "\0"]


@pytest.mark.parametrize("rule", NO_RULES)
def test_what_is_no_rule_breaks_nothing(rule: str) -> None:
    read_step(rule, BRIDGE)
    comes_to(parse_chains(f"-P FORWARD ACCEPT\n-N OURS\n-A FORWARD {rule}"), TARGET, hook="FORWARD", bridge=BRIDGE)
