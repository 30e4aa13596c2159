"""Replaces a gateway with a new one. The old one keeps running until the new one is ready to take over."""

import logging

from containers.docker.gateway.containers import ANSWERS_WITHIN, GatewayContainers
from containers.docker.gateway.networks import ensure_exit_network
from containers.docker.gateway.payload import STOP_TIMEOUT, Plan, Way
from containers.docker.gateway.rows import Row
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError
from containers.errors import EngineError, GatewaySilentError, NameTakenError

OF_OTHERS = (NameTakenError, ConflictError, MissingError)
"""The errors if several processes create the same gateway at the same time. At the next look it exists."""

TAKES_UP_TO = 2 * (ANSWERS_WITHIN + STOP_TIMEOUT) + 4
"""Seconds for the whole replacement, including the restart of the old gateway if the new one never answers."""

logger = logging.getLogger(__name__)


def put_in_place(connection: Connection, containers: GatewayContainers, plan: Plan, *, is_last: bool = False) -> None:
    """Replaces the gateway. Raises `EngineError`. It can be interrupted after each step, and several may do it at once.

    If the new gateway does not answer, the old one is started again. With `is_last`, that also happens if other
    processes interfere.
    """
    ensure_exit_network(connection, plan.network)
    new = containers.make(plan)
    rows = containers.list()
    former = [row for row in rows if row.container_id != new]
    at_work = [row for row in former if row.is_at_work]
    fallback = at_work or [row for row in former if row.state == "exited"][-1:]  # the oldest: it was the last at work
    if any(row.container_id == new and row.is_restarting for row in rows):
        containers.stop(new)  # the engine would wait longer and longer between its restarts
    if plan.way is Way.PASSAGE and at_work and all(row.takes_turns for row in former):
        _let_wait(containers, new, rows)
    try:
        for row in former:
            containers.stop(row.container_id)
        containers.join(new, plan)
        containers.start(new)
        containers.wait_for(new)
    except EngineError as error:
        if isinstance(error, OF_OTHERS) and not is_last:
            raise
        _go_back(containers, new, fallback)
        raise
    for row in former:
        containers.discard(row)


def _go_back(containers: GatewayContainers, new: str, fallback: list[Row]) -> None:
    for row in fallback:
        logger.warning("The new gateway does not start. The old one continues.")
        containers.stop(new)
        containers.start(row.container_id)


def _let_wait(containers: GatewayContainers, new: str, rows: list[Row]) -> None:
    """Starts the new gateway alongside the one at work. If it raises `EngineError`, the old one was not touched.

    The new one gets the agents' network, and with it the gateway's address, once the old one has left it.
    """
    if not any(row.container_id == new and row.is_running for row in rows):
        containers.leave(new)
        containers.start(new)
    try:
        containers.wait_for(new, is_at_work=False)
    except GatewaySilentError:
        containers.stop(new)
        raise
