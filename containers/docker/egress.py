"""The agents' network and the rules around it, which are there before an agent is started."""

import logging
import time
from datetime import datetime

from django.conf import settings

from containers.docker.network import ensure_network, read_engine_start
from containers.docker.rules_container import set_rules
from containers.docker_api.client import Connection
from containers.errors import EngineError, FirewallMissingError
from containers.firewall.bridge import bridge_name
from containers.firewall.iptables import apply_rules, explain, find_obstacle, is_on_this_host
from containers.programs import is_root

logger = logging.getLogger(__name__)

THROUGH_ENGINE_EVERY = 300.0
"""Seconds after which rules that were set through the engine are set again, which takes two containers each time."""

_REFUSAL = "No agent is started now: its firewall could not be set. Try again in a minute, or tell the staff."


class Egress:
    """Remembers for which start of the engine this process has seen to the rules: a reboot takes them away."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ready: tuple[str, datetime] | None = None
        self._set_through_engine: tuple[tuple[str, datetime] | None, float] = (None, 0.0)

    def ensure(self) -> str | None:
        """Makes the network and installs the rules. Returns None, or why the rules could not be installed."""
        self._ready = None
        since = self._read_start()
        ensure_network(self._connection)
        warning = self._apply(since)
        if since is not None and (warning is None or not is_required()):
            self._ready = bridge_name(), since
        return warning

    def _read_start(self) -> datetime | None:
        """None where the engine does not say: then the rules are set every time."""
        try:
            return read_engine_start(self._connection)
        except EngineError:
            return None

    def _apply(self, since: datetime | None) -> str | None:
        obstacle = find_obstacle()
        if obstacle is None:
            return apply_rules()
        if self._is_set_through_engine(since):
            return None
        try:
            set_rules(self._connection)
        except EngineError as error:
            return explain(f"{obstacle} {error}")
        if since is not None:
            self._set_through_engine = (bridge_name(), since), time.monotonic()
        return None

    def _is_set_through_engine(self, since: datetime | None) -> bool:
        known, at = self._set_through_engine
        return since is not None and known == (bridge_name(), since) and time.monotonic() - at < THROUGH_ENGINE_EVERY

    def require(self) -> None:
        """The same once for each start of the engine. Raises `FirewallMissingError` where it may not do without."""
        since = self._read_start()
        if since is not None and self._ready == (bridge_name(), since):
            return
        warning = self.ensure()
        if warning:
            logger.warning(warning)
        if warning and is_required():
            raise FirewallMissingError(_REFUSAL)


def is_required() -> bool:
    """Whether no agent may be started without the rules: where this process could set them, unless told otherwise."""
    if settings.BERTH_FIREWALL != "auto":
        return bool(settings.BERTH_FIREWALL == "required")
    return is_root() and is_on_this_host()
