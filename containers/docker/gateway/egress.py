"""Ensures that the agents' network and the egress rules around it exist before an agent is started."""

import logging
import time
from contextlib import suppress
from datetime import datetime

from django.conf import settings

from containers.docker.gateway.networks import read_agents_network
from containers.docker.networks.agents import ensure_network, read_engine_start
from containers.docker.networks.probe import probe
from containers.docker.networks.rules_container import set_rules
from containers.docker_api.client import Connection
from containers.errors import EngineError, FirewallMissingError
from containers.firewall.bridge import bridge_name, gateway_bridge_name, is_here, mark_bridge, restore_bridge_name
from containers.firewall.gateway_openings import Passage, passage_of
from containers.firewall.iptables import (
    apply_rules,
    are_open,
    can_set_rules,
    explain,
    find_obstacle,
    is_on_this_host,
    rules_hold,
)
from containers.programs import ProgramError, find_program, is_root

logger = logging.getLogger(__name__)

THROUGH_ENGINE_EVERY = 60.0
"""Seconds after which rules that were set through the engine are confirmed, with two containers each time. What is
missing is set again."""

HERE_EVERY = 30.0
"""Seconds after which rules on this host, and all that they need, are confirmed even if they seem to be in force. Only
what differs is set again, because new rules have counted no connections yet."""

_NOT_REFUSED = (
    "the rules are set, but packets that a container sent to private networks were not refused. Something lets them "
    "past, or the network's bridge is not the one that the rules name."
)

_Rules = tuple[str, Passage | None, datetime]
"""The rules that should exist, and the engine's start for which they were set."""


class Egress:
    """Remembers for which start of the engine this process has set the rules, because a reboot removes them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ready: _Rules | None = None
        self._set_through_engine: tuple[_Rules | None, float] = (None, 0.0)
        self._set_here_at = 0.0
        self._was_here = False
        self._guarded: Passage | None = None
        self._holds: bool | None = None

    def ensure(self) -> str | None:
        """Creates the network and installs the rules. Returns None, or why the rules could not be installed."""
        self._ready = None
        since = self._read_start()
        ensure_network(self._connection)
        read_agents_network(self._connection, with_way=True)
        warning = self._apply(since)
        self._holds = warning is None
        if since is not None and (warning is None or not self.is_required()):
            self._ready = _rules_since(since)
        return warning

    def holds(self) -> bool:
        """Returns whether the rules could be installed when this process last tried."""
        if self._holds is None:
            self.ensure()
        return bool(self._holds)

    @property
    def was_seen_to(self) -> bool:
        """Whether this process has created the network and found the rules to be set."""
        return self._ready is not None

    def probe(self) -> str | None:
        """Sends packets that must be refused. Returns a sentence if they were not, or None if they were or may be."""
        return explain(_NOT_REFUSED) if probe(self._connection) is False else None

    def _read_start(self) -> datetime | None:
        """Returns the engine's start, or None if it does not say: then the rules are set every time."""
        try:
            return read_engine_start(self._connection)
        except EngineError:
            return None

    def _apply(self, since: datetime | None) -> str | None:
        self._restore_bridge()
        obstacle = find_obstacle()
        if obstacle is None:
            return self._apply_here()
        if self._was_here and can_set_rules():
            return explain(obstacle)
        if self._is_set_through_engine(since):
            return None
        try:
            set_rules(self._connection)
        except EngineError as error:
            return explain(f"{obstacle} {error}")
        if since is not None:
            self._set_through_engine = _rules_since(since), time.monotonic()
        return None

    def _apply_here(self) -> str | None:
        is_first, self._was_here = not self._was_here or self._guarded != passage_of(gateway_bridge_name()), True
        self._guarded = passage_of(gateway_bridge_name())
        holds = rules_hold()
        if holds and time.monotonic() - self._set_here_at < HERE_EVERY and are_open():
            return None
        if find_program("ip"):
            with suppress(ProgramError):  # without the mark, only a renamed bridge cannot be found again
                for name in (bridge_name(), gateway_bridge_name()):
                    mark_bridge(name)
        warning = apply_rules()
        self._set_here_at = time.monotonic()
        if not (holds or is_first or warning):
            logger.warning("The agents' firewall had been changed and had no effect. Its rules are in force again.")
        return warning

    def _restore_bridge(self) -> None:
        """Restores the bridge's name if someone has changed it, because the rules depend on it."""
        if is_on_this_host() or not (can_set_rules() and find_program("ip")):
            return
        guarded = [bridge_name(), *([gateway_bridge_name()] if passage_of(gateway_bridge_name()) else [])]
        for name in [each for each in guarded if not is_here(each)]:
            try:
                former = restore_bridge_name(name)
            except ProgramError as error:
                logger.warning("The bridge %s has another name, and could not get its own back: %s", name, error)
                continue
            if former:
                self._was_here = True
                logger.warning("Somebody had renamed the agents' bridge to %s. It is called %s again.", former, name)

    def _is_set_through_engine(self, since: datetime | None) -> bool:
        known, at = self._set_through_engine
        return since is not None and known == _rules_since(since) and time.monotonic() - at < THROUGH_ENGINE_EVERY

    def require(self) -> None:
        """Calls `ensure` if necessary. Raises `FirewallMissingError` if the rules are missing but required."""
        since = self._read_start()
        is_ready = since is not None and self._ready == _rules_since(since)
        if is_ready and (not self._was_here or rules_hold()):
            return
        warning = self.ensure()
        if warning:
            logger.warning(warning)
        if warning and self.is_required():
            raise FirewallMissingError

    def is_required(self) -> bool:
        """Returns whether agents must not run without the rules. The default is whether this process could set them."""
        if settings.BERTH_FIREWALL != "auto":
            return bool(settings.BERTH_FIREWALL == "required")
        return is_root() and (self._was_here or is_on_this_host())


def _rules_since(since: datetime) -> _Rules:
    return bridge_name(), passage_of(gateway_bridge_name()), since
