"""Prints the script to run on each node of a Swarm."""

from argparse import ArgumentParser
from functools import partial
from ipaddress import IPv4Network, ip_address
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from containers.firewall.bridge import bridge_name, gateway_bridge_name
from containers.firewall.gateway_openings import Door
from containers.firewall.node_script import NodeNetwork, node_script, split_subnet
from containers.firewall.resolvers import need_rules
from containers.firewall.rules import make_rules
from containers.gateway.vocabulary import PORT, AgentsNetwork
from containers.identity import gateway_network_name, network_name


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Print the script that makes the agents' networks and firewall rules on a node of a Swarm (run it as root)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--resolver",
            action="append",
            default=[],
            help="a name server with a private address that the nodes' /etc/resolv.conf names; may be given again",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            resolvers = [str(ip_address(each)) for each in options["resolver"]]
        except ValueError as error:
            raise CommandError(f"--resolver needs an address: {error}.") from error
        behind, others = split_subnet(IPv4Network(settings.BERTH_SWARM_SUBNET))
        door = Door(address=str(AgentsNetwork(subnet=behind).host), port=PORT)
        resolvers += need_rules(settings.BERTH_DNS)
        make = partial(make_rules, allow=settings.BERTH_EGRESS_ALLOW, resolvers=resolvers)
        networks = [
            NodeNetwork(name=gateway_network_name(), bridge=gateway_bridge_name(), subnet=behind),
            NodeNetwork(name=network_name(), bridge=bridge_name(), subnet=others),
        ]
        rules = [*make(bridge=gateway_bridge_name(), door=door), *make(bridge=bridge_name())]
        self.stdout.write(node_script(settings.BERTH_INSTANCE, networks, rules), ending="")
