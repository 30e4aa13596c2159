"""The script of `manage.py node`, run on a separate machine with real packets, as an operator runs it on each node."""

import shutil
import subprocess
import sys
from io import StringIO
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from containers.firewall.bridge import bridge_name, gateway_bridge_name
from containers.firewall.gateway_openings import Door
from containers.firewall.node_script import CONFIG, NodeNetwork, node_script
from containers.firewall.rules import make_rules
from containers.identity import gateway_network_name, network_name
from containers.programs import is_root
from tests.child_servers import child_server
from tests.containers.firewall.router import GATEWAY, PORT, Router, make_router

pytestmark = pytest.mark.one_database
can_filter = pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
)
GATEWAY_PORT, CONTROL_PORT = 8080, 8443
ENGINE = """\
#!/bin/sh
# As much of an engine as the script uses: networks are files.
for last; do :; done
case "$2" in
ls) ls "$NETWORKS" ;;
inspect)
    case "$4" in
    *.Name*) echo "$last $(cut -d ' ' -f 2 "$NETWORKS/$last")" ;;
    *) cat "$NETWORKS/$last" 2>/dev/null ;;
    esac
    ;;
create) echo "$*" >>"$NETWORKS/log"; echo "true $5" >"$NETWORKS/$last" ;;
esac
"""
LISTEN = """
import socket, sys
servers = [socket.create_server(("0.0.0.0", int(port))) for port in sys.argv[1:]]
print("open", flush=True)
sys.stdin.read()
"""


def print_script(*words: str) -> str:
    printed = StringIO()
    call_command("node", *words, stdout=printed)
    return printed.getvalue()


def test_the_script_names_the_networks_and_bridges_of_the_service(db: None) -> None:
    script = print_script()
    for name, bridge, subnet in (
        (gateway_network_name(), gateway_bridge_name(), "10.231.0.0/21"),
        (network_name(), bridge_name(), "10.231.8.0/21"),
    ):
        assert f"network {name}{CONFIG} {subnet} " in script
        assert f"bridge.name={bridge} -o com.docker.network.bridge.enable_icc=false" in script
        assert f"-N {bridge.upper()}-HOST\n" in script
    assert script.count("-d 10.231.0.1/32 -p tcp -m tcp --dport 8080 -j ACCEPT") == 1
    assert "@" not in script
    assert subprocess.run(["sh", "-n"], input=script.encode(), check=False).returncode == 0


def test_the_script_gets_the_name_servers_of_the_nodes(db: None) -> None:
    assert "-d 10.0.0.53/32 -p udp -m udp --dport 53 -j ACCEPT" in print_script("--resolver", "10.0.0.53")
    with pytest.raises(CommandError, match="needs an address"):
        print_script("--resolver", "ns.example.org")


@can_filter
@pytest.mark.rare(2)
def test_on_a_node_agents_reach_their_gateway_and_the_internet_and_nothing_else(tmp_path: Path) -> None:
    with make_router() as node:
        script = write_script(tmp_path, node)
        ports = [str(GATEWAY_PORT), str(CONTROL_PORT)]
        with child_server(node.on("router", sys.executable, "-c", LISTEN, *ports)):
            assert reached(node) == {GATEWAY_PORT: True, CONTROL_PORT: True, PORT: True}, "There are no rules yet."
            run(node, script, "close")
            assert node.as_agent("knock", addresses=[GATEWAY], port=GATEWAY_PORT) == {GATEWAY: False}
            for _ in range(2):
                run(node, script)
                assert reached(node) == {GATEWAY_PORT: True, CONTROL_PORT: False, PORT: True}
            run(node, script, "rules")
        made = (tmp_path / "networks/log").read_text().splitlines()
        assert len(made) == 1, "The second run finds what the first one has made."
        (tmp_path / "networks/agents-config").write_text("false 10.0.0.0/8")
        assert run(node, script, fails=True).endswith("Remove it when no agent is here.\n")


@pytest.mark.skipif(not is_root(), reason="takes root")
def test_a_second_installation_on_a_node_must_use_other_addresses(tmp_path: Path) -> None:
    """The addresses of the script's own network, whose configuration was removed, are not foreign ones."""
    with make_router() as node:
        script = write_script(tmp_path, node)
        (tmp_path / "networks/agents").write_text("false 11.99.0.0/24")
        (tmp_path / "networks/docker").write_text("false 11.98.0.0/24")
        (tmp_path / "networks/others-config").write_text("true 11.99.0.0/24")
        said = run(node, script, fails=True)
        assert "network others-config, of another installation" in said
        assert "BERTH_SWARM_SUBNET" in said
        (tmp_path / "networks/others-config").unlink()
        run(node, script)


def write_script(folder: Path, node: Router) -> Path:
    """Writes the script, with an engine that records requests,
    and a folder of its own for the mark that there are rules."""
    (folder / "networks").mkdir()
    engine = folder / "docker"
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    door = Door(address=GATEWAY, port=GATEWAY_PORT)
    network = NodeNetwork(name="agents", bridge=node.bridge, subnet=IPv4Network("11.99.0.0/24"))
    made = node_script("tests", [network], make_rules(bridge=node.bridge, allow=[], resolvers=[], door=door))
    script = folder / "berth-node.sh"
    script.write_text(made.replace("/run/berth-node", f"{folder}/state").replace("/run/systemd", "/nowhere"))
    return script


def run(node: Router, script: Path, *words: str, fails: bool = False) -> str:
    folder = script.parent
    command = ["env", f"PATH={folder}:/usr/sbin:/usr/bin:/sbin:/bin", f"NETWORKS={folder}/networks", "sh", str(script)]
    done = subprocess.run(node.on("router", *command, *words), capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr


def reached(node: Router) -> dict[int, bool]:
    """By port: the gateway's two at the address of the bridge, and one of the internet."""
    addresses = {GATEWAY_PORT: GATEWAY, CONTROL_PORT: GATEWAY, PORT: "8.8.8.8"}
    return {port: node.as_agent("knock", addresses=[at], port=port)[at] for port, at in addresses.items()}
