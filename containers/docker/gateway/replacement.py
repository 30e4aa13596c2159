"""Puts a gateway in the place of another one, which goes on until the new one has only to take over."""

import logging

from containers.docker.gateway.containers import ANSWERS_WITHIN, GatewayContainers
from containers.docker.gateway.networks import ensure_exit_network
from containers.docker.gateway.payload import STOP_TIMEOUT, Plan, Way
from containers.docker.gateway.rows import Row
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError
from containers.errors import EngineError, GatewaySilentError, NameTakenError

OF_OTHERS = (NameTakenError, ConflictError, MissingError)
"""What comes of several that make the same gateway at the same time. One look later there is one."""

TAKES_UP_TO = 2 * (ANSWERS_WITHIN + STOP_TIMEOUT) + 4
"""Seconds for all of it, up to the former one's start where the new one never answers."""

logger = logging.getLogger(__name__)


def put_in_place(connection: Connection, containers: GatewayContainers, plan: Plan, *, is_last: bool = False) -> None:
    """May be broken off after each step, and done by several at once. Raises `EngineError`.

    Where the new one does not answer, the former one goes on. `is_last`: also where others are in the way.
    """
    ensure_exit_network(connection, plan.network)
    new = containers.make(plan)
    rows = containers.list()
    former = [row for row in rows if row.container_id != new]
    at_work = [row for row in former if row.is_at_work]
    fallback = at_work or [row for row in former if row.state == "exited"][-1:]  # the oldest: it was the last at work
    if any(row.container_id == new and row.is_restarting for row in rows):
        containers.stop(new)  # the engine would wait longer and longer before it starts it again
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
        logger.warning("The new gateway does not start. The former one goes on.")
        containers.stop(new)
        containers.start(row.container_id)


def _let_wait(containers: GatewayContainers, new: str, rows: list[Row]) -> None:
    """Starts the new one beside the one at work. Raises `EngineError`, and then the other one was not touched.

    It has the agents' network, and so the gateway's address, when nobody else has it any more.
    """
    if not any(row.container_id == new and row.is_running for row in rows):
        containers.leave(new)
        containers.start(new)
    try:
        containers.wait_for(new, is_at_work=False)
    except GatewaySilentError:
        containers.stop(new)
        raise
