"""Ensures that the gateway runs with the wanted settings, and communicates with it."""

import logging
import time
from contextlib import suppress
from dataclasses import replace

from django.conf import settings

from containers.docker.gateway.containers import GatewayContainers
from containers.docker.gateway.networks import ensure_agents_network, remove_networks
from containers.docker.gateway.payload import Plan, Way, make_plan
from containers.docker.gateway.replacement import OF_OTHERS, TAKES_UP_TO, put_in_place
from containers.docker.gateway.rows import Row
from containers.docker.observations import read_details
from containers.docker_api.building.image_build import GATEWAY
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError
from containers.docker_api.exec_lines import ExecLines
from containers.errors import (
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    ImageMissingError,
)
from containers.gateway.transport import NOT_THERE
from containers.gateway.vocabulary import AgentsNetwork, GatewayAddress, GatewaySpec
from containers.hardening import data_volume
from containers.identity import gateway_name
from containers.outbound.call_limits import seconds_left, time_limit
from containers.vocabulary import Observation

ENSURE_LIMIT = 90.0
"""Seconds to create or replace the gateway."""

VOLUMES_EVERY = 20.0
"""Seconds between two checks that its volumes are on the engine's disk."""

TRY_AGAIN_AFTER = 300.0
"""Seconds until a new gateway that did not start is tried again, while the old one works."""

_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

logger = logging.getLogger(__name__)


class Gateway:
    """Manages the gateway. It is also a `containers.gateway.transport.Transport` to the running container."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._containers = GatewayContainers(connection)
        self._image = GATEWAY.image  # from the files at the start of this process
        self._lines = ExecLines(connection)
        self._known_id = ""
        self._volumes_again_at = time.monotonic() + VOLUMES_EVERY
        self._failed: dict[str, tuple[float, str]] = {}
        """By the digest of a plan: when it may be tried again, and what was wrong."""

    def ensure(self, spec: GatewaySpec, *, has_rules: bool) -> GatewayAddress:
        """Returns the gateway's address. With `has_rules`, the firewall lets agents through to it directly.

        Otherwise they reach it by a port of the engine's host. The way does not change while a gateway exists, because
        running containers know its address.
        """
        network = ensure_agents_network(self._connection)
        with time_limit(ENSURE_LIMIT):
            way, warning = self._ensure_container(spec, network, Way.PASSAGE if has_rules else Way.PORT)
        is_direct = way is Way.PASSAGE
        host = str(network.gateway if is_direct else network.host)
        return GatewayAddress(host=host, knows_sources=is_direct, warning=warning)

    def _ensure_container(self, spec: GatewaySpec, network: AgentsNetwork, way: Way) -> tuple[Way, str]:
        *pauses, last = _PAUSES
        for pause in pauses:
            try:
                return self._try_to_ensure(spec, network, way)
            except OF_OTHERS:
                time.sleep(pause)
        time.sleep(last)
        return self._try_to_ensure(spec, network, way, is_last=True)

    def _try_to_ensure(
        self, spec: GatewaySpec, network: AgentsNetwork, way: Way, *, is_last: bool = False
    ) -> tuple[Way, str]:
        """Returns the way by which agents reach it, and a warning if the old gateway has to continue."""
        rows = self._containers.list()
        way = rows[0].way if rows else way
        image = spec.image or self._image
        image_id = self._containers.read_image(image)
        if not image_id and not any(row.is_running for row in rows):
            raise ImageMissingError(
                f"The gateway's image {image} is not on the engine. Run `manage.py build_images gateway`."
            )
        if not image_id:
            return way, ""
        plan = make_plan(spec, image_id=image_id, network=network, way=way, name_servers=settings.BERTH_DNS)
        if len(rows) == 1 and rows[0].is_as_wanted(plan.made):
            if self._keeps_its_volumes(rows[0]):
                return way, ""
            self._containers.stop(rows[0].container_id)  # so that a new one is created
        return way, self._try_to_replace(plan, rows, is_last=is_last)

    def _try_to_replace(self, plan: Plan, rows: list[Row], *, is_last: bool) -> str:
        """Returns a warning if the old gateway has to continue. Raises `EngineError` if there is no old one."""
        failed = self._failed.get(plan.made)
        if failed and time.monotonic() < failed[0] and _is_another_at_work(rows, plan):
            return failed[1]
        left = seconds_left()
        if left is not None and left < TAKES_UP_TO and _is_another_at_work(rows, plan):
            return ""  # it continues until the watcher replaces it, which has enough time to undo a failure
        try:
            put_in_place(self._connection, self._containers, plan, is_last=is_last)
        except OF_OTHERS:
            raise
        except EngineRefusedError as error:
            if not _is_another_at_work(self._containers.list(), plan):
                raise
            warning = f"Its replacement does not start: {error} The former one continues."
            self._failed = {plan.made: (time.monotonic() + TRY_AGAIN_AFTER, warning)}
            return warning
        return ""

    def _keeps_its_volumes(self, row: Row) -> bool:
        """Returns whether its volumes exist. Only one call in `VOLUMES_EVERY` seconds checks this."""
        now = time.monotonic()
        if now < self._volumes_again_at:
            return True
        self._volumes_again_at = now + VOLUMES_EVERY
        return self._containers.has_volumes(row.container_id)

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
        """Returns the id of the running container. Raises `EngineUnavailableError` if there is none."""
        found = next((row.container_id for row in self._containers.list() if row.is_running), "")
        self._known_id = found  # another thread may change it at any time
        if not found:
            raise EngineUnavailableError(NOT_THERE)
        return found

    def exchange(self, line: bytes, *, within: float) -> bytes:
        """Sends the request to the container of the last exchange, or to the present one if that is gone."""
        until = time.monotonic() + within
        if known := self._known_id:
            with suppress(MissingError, ConflictError):
                return self._lines.exchange(known, line, until=until)
        container = self._find()
        try:
            return self._lines.exchange(container, line, until=until)
        except (MissingError, ConflictError) as error:
            raise EngineUnavailableError(NOT_THERE) from error

    def prepare(self, *, within: float) -> None:
        until = time.monotonic() + within
        with suppress(EngineError):
            self._lines.prepare(self._known_id or self._find(), until=until)


def _is_another_at_work(rows: list[Row], plan: Plan) -> bool:
    """Returns whether a gateway from another plan is at work. One that fails at once seems to run between restarts."""
    return any(row.is_at_work and row.made != plan.made for row in rows)
