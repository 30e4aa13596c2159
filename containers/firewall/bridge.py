"""The name of the host's interface that the agents' network has and the rules match."""

import hashlib

from django.conf import settings


def bridge_name() -> str:
    """The host's interface of the network: a name that firewall rules can match, at most 15 characters long."""
    whose = f"{settings.BERTH_INSTANCE}/{settings.BERTH_CONTAINER_NETWORK}"
    return f"berth-{hashlib.sha256(whose.encode()).hexdigest()[:8]}"
