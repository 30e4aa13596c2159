"""Sends many projects' entries to a gateway in one message."""

import logging
from collections import defaultdict

from django.views.decorators.debug import sensitive_variables

from containers.errors import EngineRefusedError
from containers.gateway.leases import Lease
from containers.gateway.protocol import GatewayClient
from projects.credentials.encryption import SecretUnreadableError
from projects.models import Project
from projects.services.gateway.entry import GatewayMessage, make_message, read_prices
from projects.services.gateway.spending import read_spent

log = logging.getLogger(__name__)


@sensitive_variables()
def read_messages(fresh: list[Project], *, sources: bool, read_from: str = "") -> dict[int, list[GatewayMessage]]:
    """Returns the messages by version. Leaves out projects whose credentials cannot be read.

    `read_from` is the store that the service reads, if the gateway has lost counts.
    """
    messages: dict[int, list[GatewayMessage]] = defaultdict(list)
    prices, spent = read_prices(), read_spent(fresh, read_from=read_from)  # after the rows
    for project in fresh:
        try:
            message = make_message(project, prices=prices, knows_sources=sources, spent=spent.get(project.pk, ()))
            messages[message.version].append(message)
        except SecretUnreadableError as error:
            log.warning("%s", error)
    return messages


@sensitive_variables()
def apply_messages(
    client: GatewayClient, version: int, messages: list[GatewayMessage], lease: Lease | None = None
) -> list[str]:
    """Sends the messages. If the gateway refuses one of them, sends each by itself. Returns the refused projects."""
    try:
        client.apply(
            version=version,
            entries=[message.entry for message in messages if message.entry],
            void=[message.project for message in messages if not message.entry],
            lease=lease,
        )
    except EngineRefusedError as error:
        if len(messages) == 1:
            log.warning("The gateway refuses the entry of project %s: %s", messages[0].project, error)
            return [messages[0].project]
        return [project for message in messages for project in apply_messages(client, version, [message], lease)]
    return []
