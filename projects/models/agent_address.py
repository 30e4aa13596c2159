"""The fixed addresses of agents on their network, by which (with virtual credentials) the gateway knows them."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from projects.errors import NoCapacityError
from projects.models.installation import Installation, lock_installation
from projects.models.project import Project

AT_ONCE = 64
"""How many addresses one query checks."""


def has_address(project: Project, network: IPv4Network) -> bool:
    """Returns whether the project has an address of this network that an agent may have."""
    if project.address is None:
        return False
    address = IPv4Address(project.address)
    return address in network and address not in {network.network_address, network.broadcast_address}


def take_address(network: IPv4Network) -> str:
    """Returns a free address. Reuses a returned address as late as possible.

    Call it in a transaction: it locks the installation's row until the end, so that no address is given out twice.
    Raises `NoCapacityError` if all are taken.
    """
    installation = lock_installation()
    for some in _in_turn(network, installation.next_address):
        taken = set(Project.objects.filter(address__in=some).values_list("address", flat=True))
        free = next((each for each in some if each not in taken), None)
        if free is not None:
            row = Installation.objects.filter(pk=installation.pk)
            row.update(next_address=int(IPv4Address(free)) + 1)
            return free
    raise NoCapacityError("Every address of the agents' network is taken. Delete a project, or ask the staff.")


def _in_turn(network: IPv4Network, begin: int | None) -> Iterator[list[str]]:
    """Yields all usable addresses in lists of up to `AT_ONCE`, beginning with this one."""
    first, last = int(network.network_address) + 1, int(network.broadcast_address)
    begin = begin if begin is not None and first <= begin < last else first
    for low, high in ((begin, last), (first, begin)):
        for start in range(low, high, AT_ONCE):
            yield [str(IPv4Address(number)) for number in range(start, min(start + AT_ONCE, high))]
