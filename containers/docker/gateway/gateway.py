"""Sees to it that the gateway runs as it should, and speaks with it."""

import logging
import time
from contextlib import suppress
from dataclasses import replace

from django.conf import settings

from containers.call_limits import time_limit
from containers.docker.gateway.containers import GatewayContainers
from containers.docker.gateway.networks import ensure_agents_network, ensure_exit_network, remove_networks
from containers.docker.gateway.payload import Plan, Way, make_plan
from containers.docker.observations import read_details
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError
from containers.docker_api.exec_lines import ExecLines
from containers.docker_api.image_build import GATEWAY
from containers.errors import EngineError, EngineUnavailableError, ImageMissingError, NameTakenError
from containers.gateway.transport import NOT_THERE
from containers.gateway.words import AgentsNetwork, GatewayAddress, GatewaySpec
from containers.hardening import data_volume
from containers.identity import gateway_name
from containers.vocabulary import Observation

ENSURE_LIMIT = 60.0
"""Seconds for making or replacing it."""

_OF_OTHERS = (NameTakenError, ConflictError, MissingError)
"""What comes of several that make the same gateway at the same time. One look later there is one."""

_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

logger = logging.getLogger(__name__)


class Gateway:
    """Also a `containers.gateway.transport.Transport` to whichever container runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._containers = GatewayContainers(connection)
        self._image = GATEWAY.image  # of the files that this process was started with
        self._lines = ExecLines(connection)
        self._known_id = ""

    def ensure(self, spec: GatewaySpec, *, has_rules: bool) -> GatewayAddress:
        """`has_rules`: the firewall lets agents through to it. Otherwise they come by a port of the engine's host.

        Which way it is stays as it is while there is a gateway: containers that run know its address.
        """
        network = ensure_agents_network(self._connection)
        with time_limit(ENSURE_LIMIT):
            way = self._ensure_container(spec, network, Way.PASSAGE if has_rules else Way.PORT)
        is_direct = way is Way.PASSAGE
        return GatewayAddress(host=str(network.gateway if is_direct else network.host), knows_sources=is_direct)

    def _ensure_container(self, spec: GatewaySpec, network: AgentsNetwork, way: Way) -> Way:
        *pauses, last = _PAUSES
        for pause in pauses:
            try:
                return self._try_to_ensure(spec, network, way)
            except _OF_OTHERS:
                time.sleep(pause)
        time.sleep(last)
        return self._try_to_ensure(spec, network, way)

    def _try_to_ensure(self, spec: GatewaySpec, network: AgentsNetwork, way: Way) -> Way:
        rows = self._containers.list()
        way = rows[0].way if rows else way
        image = spec.image or self._image
        image_id = self._containers.read_image(image)
        if not image_id and not any(row.is_running for row in rows):
            raise ImageMissingError(
                f"The gateway's image {image} is not on the engine. Run `manage.py build_images gateway`."
            )
        if image_id:
            plan = make_plan(spec, image_id=image_id, network=network, way=way, name_servers=settings.BERTH_DNS)
            if len(rows) != 1 or not rows[0].is_as_wanted(plan.made):
                self._replace(plan)
        return way

    def inspect(self) -> Observation | None:
        row = next(iter(self._containers.list()), None)
        if row is None:
            return None
        try:
            with self._connection.call(about_one=True) as client:
                answer = client.inspect_container(row.container_id)
        except MissingError:
            return None
        return replace(read_details(answer).observation, has_drifted=not row.is_on_its_networks)

    def remove(self, *, state: bool) -> None:
        for row in self._containers.list():
            self._containers.discard(row)
        if state:
            self._containers.remove_volume(data_volume(gateway_name()))
            remove_networks(self._connection)

    def _find(self) -> str:
        """The id of the container that runs. Raises `EngineUnavailableError` where there is none."""
        self._known_id = next((row.container_id for row in self._containers.list() if row.is_running), "")
        if not self._known_id:
            raise EngineUnavailableError(NOT_THERE)
        return self._known_id

    def exchange(self, line: bytes, *, within: float) -> bytes:
        """To the container that was there the last time, or else to the one that there is now."""
        until = time.monotonic() + within
        if self._known_id:
            with suppress(MissingError, ConflictError):
                return self._lines.exchange(self._known_id, line, until=until)
        container = self._find()
        try:
            return self._lines.exchange(container, line, until=until)
        except (MissingError, ConflictError) as error:
            raise EngineUnavailableError(NOT_THERE) from error

    def prepare(self, *, within: float) -> None:
        until = time.monotonic() + within
        with suppress(EngineError):
            self._lines.prepare(self._known_id or self._find(), until=until)

    def _replace(self, plan: Plan) -> None:
        """Everything is ready before the former one ends. Where the new one does not answer, the former one goes on."""
        ensure_exit_network(self._connection, plan.network)
        new = self._containers.make(plan)
        former = [row for row in self._containers.list() if row.container_id != new]
        for row in former:
            self._containers.stop(row.container_id)
        try:
            self._containers.start(new)
            self._containers.wait_for(new)
        except _OF_OTHERS:
            raise
        except EngineError:
            for row in former:
                if row.is_running:
                    logger.warning("The new gateway does not start. The former one goes on.")
                    self._containers.stop(new)
                    self._containers.start(row.container_id)
            raise
        for row in former:
            self._containers.discard(row)
