"""The fixed addresses of agents on their network: what the gateway knows them by, beside their virtual credentials."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from django.db import transaction
from django.db.models import F

from projects.errors import NoCapacityError
from projects.models.installation import Installation, read_installation
from projects.models.project import Project

AT_ONCE = 64
"""Addresses that one query asks about."""


def ensure_address(project: Project, network: IPv4Network, *, is_taken: bool = False) -> bool:
    """Gives the project an address of this network, where it has none of it, or where somebody else has taken its own.

    Returns whether it did. There is no moment without one: the gateway would look at the credential alone.

    Raises `NoCapacityError` where all are taken, and `ProjectGoneError`.
    """
    if not is_taken and project.address is not None and _is_usable(IPv4Address(project.address), network):
        return False
    with transaction.atomic():
        address = take_address(network)
        rows = Project.objects.filter(pk=project.pk, address=project.address)
        rows.update(address=address, entry_version=F("entry_version") + 1)
    project.refresh_from_db(fields=["address", "entry_version"])
    return True


def take_address(network: IPv4Network) -> str:
    """A free address. One that was given back is given away again as late as possible.

    Call it in a transaction: it locks the installation's row until the end of that, and nobody gets the same address.
    """
    row = Installation.objects.filter(pk=read_installation().pk)
    row.update(next_address=F("next_address"))
    for some in _in_turn(network, row.values_list("next_address", flat=True).get()):
        taken = set(Project.objects.filter(address__in=some).values_list("address", flat=True))
        free = next((each for each in some if each not in taken), None)
        if free is not None:
            row.update(next_address=int(IPv4Address(free)) + 1)
            return free
    raise NoCapacityError("Every address of the agents' network is taken. Delete a project, or ask the staff.")


def _in_turn(network: IPv4Network, begin: int | None) -> Iterator[list[str]]:
    """All usable addresses, some at a time, from this one on."""
    first, last = int(network.network_address) + 1, int(network.broadcast_address)
    begin = begin if begin is not None and first <= begin < last else first
    for low, high in ((begin, last), (first, begin)):
        for start in range(low, high, AT_ONCE):
            yield [str(IPv4Address(number)) for number in range(start, min(start + AT_ONCE, high))]


def _is_usable(address: IPv4Address, network: IPv4Network) -> bool:
    return address in network and address not in {network.network_address, network.broadcast_address}
