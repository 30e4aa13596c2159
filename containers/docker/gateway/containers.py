"""The gateway's containers on Docker. There are two of them while one replaces the other."""

import logging
import time
from contextlib import suppress
from dataclasses import replace

from django.conf import settings

from containers.agent_contract import DATA_PATH, SECRETS_PATH
from containers.docker.gateway.payload import (
    ALWAYS,
    KEY_FILE,
    LABEL,
    STOP_TIMEOUT,
    USER,
    Plan,
    container_name_for,
    gateway_payload,
)
from containers.docker.gateway.rows import Row, is_gateway, read_row
from containers.docker.networks import endpoints
from containers.docker.secrets import pack_secrets
from containers.docker_api.building.image_build import inspect_image
from containers.docker_api.client import CALL_LIMIT, Connection
from containers.docker_api.errors import (
    STATE_MISSING,
    ConflictError,
    EngineFailedError,
    MissingError,
    understand_answer,
)
from containers.docker_api.exec_transport import ExecTransport
from containers.errors import (
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    GatewaySilentError,
    NameTakenError,
)
from containers.gateway.protocol import GatewayClient
from containers.hardening import NEVER_BY_ENGINE, data_volume, secrets_volume
from containers.identity import gateway_name, gateway_network_name, is_our_helper
from containers.outbound.call_limits import seconds_left

ANSWERS_WITHIN = 20.0
"""Seconds that a gateway may take to start."""

LOOK = 2.0
"""Seconds for the engine to say whether a container runs."""

_ASK_EVERY = 0.05

logger = logging.getLogger(__name__)


class GatewayContainers:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> list[Row]:
        """Returns the gateway's containers: the one at work first, then other running ones.

        Each is inspected for its state, because a list has only what the engine last saved.
        """
        filters = {"label": [f"{LABEL}={settings.BERTH_INSTANCE}"]}
        with self._connection.call() as client, understand_answer():
            found = [read_row(row) for row in client.containers(all=True, filters=filters) if is_gateway(row)]
        found = [replace(row, state=self._read_state(row)) for row in found]
        return sorted(found, key=lambda row: (not row.is_at_work, not row.is_running))

    def _read_state(self, row: Row) -> str:
        """Returns the container's state, or the state from the list if the engine does not answer for it."""
        try:
            with self._connection.call(LOOK, about_one=True) as client, understand_answer():
                return str(client.inspect_container(row.container_id)["State"]["Status"])
        except MissingError:
            return "gone"
        except EngineUnavailableError:
            return row.state

    def read_image(self, image: str) -> str:
        with understand_answer():
            found = inspect_image(self._connection, image)
            return str(found["Id"]) if found else ""

    def make(self, plan: Plan) -> str:
        """Returns the id of the container, with its key in it. Another process may have created it already."""
        name = container_name_for(plan.made)
        payload = gateway_payload(plan)
        try:
            with self._connection.call() as client, understand_answer():
                container = str(client.create_container_from_config(payload, name)["Id"])
        except NameTakenError:
            found = next((row for row in self.list() if row.name == name), None)
            if found is None:
                raise
            container = found.container_id
        try:
            with self._connection.call(about_one=True) as client:
                client.put_archive(container, SECRETS_PATH, pack_secrets({KEY_FILE: plan.spec.key}, group=USER))
        except EngineRefusedError as error:
            if str(error) != STATE_MISSING:
                raise
            self._give_up_without_volumes(container, name)
            raise MissingError("It had lost its volumes, and is created again.") from error
        return container

    def has_volumes(self, container: str) -> bool:
        """Returns whether its volumes exist. If someone has removed them from the engine's disk, it saves nothing."""
        try:
            with self._connection.call(about_one=True) as client:
                client.put_archive(container, DATA_PATH, pack_secrets({}, group=USER))
        except EngineRefusedError as error:
            if isinstance(error, MissingError) or str(error) == STATE_MISSING:
                return False
            raise
        return True

    def _give_up_without_volumes(self, container: str, name: str) -> None:
        """Removes a container that cannot start without its volumes. The next one gets new ones; the data is lost."""
        logger.warning("The gateway's data was removed from the engine's disk. The gateway is created again.")
        self._remove(container, name)
        self.remove_volume(data_volume(gateway_name()))

    def join(self, container: str, plan: Plan) -> None:
        """Connects the container to the agents' network at the gateway's address, unless it is connected already."""
        network, address = gateway_network_name(), str(plan.network.gateway)
        if self._is_on(container, network):
            return
        try:
            endpoints.connect(self._connection, container, network, address=address)
        except EngineRefusedError:
            if not self._is_on(container, network):  # otherwise another process has just done it
                raise

    def leave(self, container: str) -> None:
        """Disconnects a stopped container from the agents' network, so that it can start alongside the one at work."""
        if self._is_on(container, gateway_network_name()):
            with self._connection.call(about_one=True) as client:
                client.disconnect_container_from_network(container, gateway_network_name())

    def _is_on(self, container: str, network: str) -> bool:
        with self._connection.call(about_one=True) as client, understand_answer():
            return network in client.inspect_container(container)["NetworkSettings"]["Networks"]

    def start(self, container: str) -> None:
        self._prepare(container, ALWAYS)
        endpoints.start(self._connection, container)

    def _prepare(self, container: str, policy: str) -> None:
        wrong_state = MissingError, ConflictError, EngineFailedError
        with suppress(*wrong_state), self._connection.call(about_one=True) as client:
            client.unpause(container)  # a paused one handles no signal, and cannot be started
        with suppress(*wrong_state), self._connection.call(about_one=True) as client:
            client.update_container(container, restart_policy={"Name": policy})

    def stop(self, container: str) -> None:
        """Stops the container, and keeps the engine from starting it again."""
        self._prepare(container, NEVER_BY_ENGINE)
        with suppress(MissingError), self._connection.call(STOP_TIMEOUT + CALL_LIMIT, about_one=True) as client:
            client.stop(container, timeout=STOP_TIMEOUT)

    def wait_for(self, container: str, *, is_at_work: bool = True) -> None:
        """Waits until the container answers, and with `is_at_work` until it serves agents.

        Raises `GatewaySilentError` if it does not, and `EngineUnavailableError` if the caller has less time than that.
        """
        left = seconds_left()
        until = time.monotonic() + (ANSWERS_WITHIN if left is None else min(ANSWERS_WITHIN, left))
        while time.monotonic() < until:
            with suppress(EngineError):
                gateway = GatewayClient(ExecTransport(self._connection, container), within=until - time.monotonic())
                if gateway.is_ready() or not is_at_work:
                    return
            time.sleep(_ASK_EVERY)
        if left is not None and left < ANSWERS_WITHIN:
            raise EngineUnavailableError("The gateway was started and has not answered yet.")
        raise GatewaySilentError("The gateway was started and does not answer. Its container's log says why.")

    def discard(self, row: Row) -> None:
        self.stop(row.container_id)
        self._remove(row.container_id, row.name)

    def _remove(self, container: str, name: str) -> None:
        with suppress(MissingError, ConflictError), self._connection.call(about_one=True) as client:
            client.remove_container(container, force=True)
        self.remove_volume(secrets_volume(name))

    def remove_volume(self, volume: str) -> None:
        with suppress(MissingError, ConflictError), self._connection.call() as client, understand_answer():
            if is_our_helper(client.inspect_volume(volume)["Labels"] or {}, LABEL):
                client.remove_volume(volume)
