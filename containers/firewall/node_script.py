"""Builds the script that an operator runs on each Swarm node, for the agents' networks and their rules.

The manager can create neither on another machine. The networks are the same on each node, so that the gateway has the
same address for all agents.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from containers.firewall.boot import SCRIPT
from containers.firewall.rules import RuleSet
from containers.firewall.script import as_script

CONFIG = "-config"
"""The suffix of each node's own network, from which the Swarm's network takes its settings."""

_OPTION = "com.docker.network.bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNetwork:
    """A network on a node. `name` is the name of the Swarm's network."""

    name: str
    bridge: str
    subnet: IPv4Network

    @property
    def create(self) -> str:
        """The command that creates the network, without the name, which must follow it."""
        options = f"-o {_OPTION}.name={self.bridge} -o {_OPTION}.enable_icc=false"
        return f"docker network create --config-only --subnet {self.subnet} --gateway {self.subnet[1]} {options}"


def split_subnet(subnet: IPv4Network) -> tuple[IPv4Network, IPv4Network]:
    """Returns the subnet of agents behind the gateway, and the subnet of all others."""
    behind, others = subnet.subnets()
    return behind, others


def node_script(name: str, networks: Sequence[NodeNetwork], rules: Iterable[RuleSet]) -> str:
    """Returns the script. `name` is the installation's. Running it again after a change updates everything."""
    places = {"@NAME@": name, "@CLOSE@": _body(SCRIPT), "@RULES@": _body(as_script(rules))}
    places["@NETWORKS@"] = "\n".join(f"network {each.name}{CONFIG} {each.subnet} '{each.create}'" for each in networks)
    text = _SCRIPT
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def _body(script: str) -> str:
    """Returns the script without the lines that every script begins with."""
    lines = script.splitlines()
    return "\n".join(line for line in lines if line not in ("#!/bin/sh", "set -eu"))


_SCRIPT = """\
#!/bin/sh
# Made by `manage.py node`. Run it as root on every node of the Swarm, and again after every change:
#   sh berth-node.sh          makes the networks, sets the rules, and has both stay so (systemd)
#   sh berth-node.sh close    drops all that comes from agents, until the rules are set; before the engine starts
#   sh berth-node.sh rules    sets the rules; after the engine has started, and now and then
set -eu
NAME=@NAME@-node
KEPT=/usr/local/lib/berth/$NAME.sh
STATE=/run/berth-node
UNITS=/etc/systemd/system

close() (
@CLOSE@
)

rules() (
@RULES@
mkdir -p $STATE
chmod 755 $STATE
: >$STATE/$NAME
)

# network NAME SUBNET COMMAND
network() {
    shown='{{.ConfigOnly}} {{range .IPAM.Config}}{{.Subnet}}{{end}}'
    if found=$(docker network inspect -f "$shown" "$1" 2>/dev/null); then
        [ "$found" = "true $2" ] || {
            echo "The network $1 is another one than it must be: $found. Remove it when no agent is here." >&2
            exit 1
        }
    else
        for other in $(docker network ls -q); do
            has=$(docker network inspect -f "{{.Name}}{{range .IPAM.Config}} {{.Subnet}}{{end}}" "$other") || continue
            case "$has " in
            "${1%-config} "*) ;;
            *" $2 "*)
                echo "The addresses $2 are those of the network ${has%% *}, of another installation. Set another" \
                    "BERTH_SWARM_SUBNET for this one, and print this script again." >&2
                exit 1
                ;;
            esac
        done
        $3 "$1" >/dev/null
    fi
}

networks() {
@NETWORKS@
}

# unit FILE: from the standard input, only where it differs.
unit() {
    cat >"$UNITS/$1.new"
    cmp -s "$UNITS/$1.new" "$UNITS/$1" && rm "$UNITS/$1.new" || mv "$UNITS/$1.new" "$UNITS/$1"
}

stay() {
    mkdir -p /usr/local/lib/berth
    [ "$0" -ef "$KEPT" ] || cp "$0" "$KEPT"
    unit "$NAME-close.service" <<UNIT
[Unit]
Description=Closes the network of Berth's agents until their firewall rules are set
After=firewalld.service iptables.service ip6tables.service netfilter-persistent.service nftables.service ufw.service
ReloadPropagatedFrom=firewalld.service iptables.service ip6tables.service netfilter-persistent.service \
    nftables.service ufw.service
Before=docker.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh $KEPT close
ExecReload=/bin/sh $KEPT close
[Install]
RequiredBy=docker.service
UNIT
    unit "$NAME.service" <<UNIT
[Unit]
Description=Sets the firewall rules of Berth's agents
After=docker.service
[Service]
Type=oneshot
ExecStart=/bin/sh $KEPT rules
[Install]
WantedBy=docker.service
UNIT
    unit "$NAME.timer" <<UNIT
[Unit]
Description=Sets the firewall rules of Berth's agents again, where somebody has taken them away
[Timer]
OnBootSec=30
OnUnitInactiveSec=30
[Install]
WantedBy=timers.target
UNIT
    systemctl daemon-reload
    systemctl -q enable "$NAME-close.service" "$NAME.service"
    systemctl -q enable --now "$NAME.timer"
}

case "${1:-all}" in
close) close ;;
rules) rules ;;
all)
    networks
    close
    rules
    if [ -d /run/systemd/system ] && [ -f "$0" ]; then
        stay
    else
        echo "Nothing here starts it again: run it with 'close' before the engine, and with 'rules' behind it." >&2
    fi
    ;;
*)
    echo "Call it without a word, or with 'close' or 'rules'." >&2
    exit 2
    ;;
esac
"""
