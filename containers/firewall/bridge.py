"""The name of the agents' network interface on the host, which the firewall rules match."""

import hashlib

from django.conf import settings


def bridge_name() -> str:
    """The name of the interface: unique to instance and network, and at most 15 characters, the kernel's limit."""
    network = f"{settings.BERTH_INSTANCE}/{settings.BERTH_CONTAINER_NETWORK}"
    return f"berth-{hashlib.sha256(network.encode()).hexdigest()[:8]}"
