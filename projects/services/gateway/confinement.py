"""Which agents the firewall's rules confine to the gateway, by their addresses."""

from ipaddress import IPv4Network

from django.conf import settings

from containers.gateway.vocabulary import AgentsNetwork, Reach
from projects.models import Gateway, Project


def is_confined(project: Project) -> bool:
    """Returns whether the project's container has an address from which it may reach only the gateway."""
    if not project.is_behind_gateway:
        return False
    row = Gateway.objects.filter(pk=settings.BERTH_INSTANCE).exclude(subnet="").first()
    network = AgentsNetwork(subnet=IPv4Network(row.subnet)) if row else None
    return network is not None and network.has(str(project.address), Reach.GATEWAY)
