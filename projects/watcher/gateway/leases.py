"""Grants leases to the gateways of a Swarm's nodes, and moves them to where agents run, in a thread of its own.

An unreachable gateway blocks nothing, because each question to a gateway has a time limit.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from containers.errors import EngineError
from containers.gateway.leases import GatewayClock, Lease
from containers.gateway.protocol import GatewayClient
from containers.gateway.transport import Transport
from containers.get_engine import get_engine
from projects.models.installation import read_hold
from projects.services.gateway.entry_holders import Holding, leave, let_go, read_holdings, take
from projects.services.gateway.entry_moves import Step, next_step
from projects.watcher.gateway.entries import lease_entries
from projects.watcher.gateway.parallel_requests import ask_all
from projects.watcher.gateway.revocation import make_void
from projects.watcher.gateway.upkeep import Gateways, is_needed
from projects.watcher.heartbeat import Pulse
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two rounds. A lease lasts for fifteen of them."""

WITHIN = 2.0
"""Seconds for one question to a gateway."""

FILL_WITHIN = 4.0
"""Seconds (plus one question) for the entries that gateways have missed. The next round continues with them."""

SILENT_AFTER = 4.0
"""Seconds without an answer after which a gateway counts as silent."""

STEP = 90.0
"""Seconds for a round: questions to each gateway, and missed entries."""
LOOK_WITHIN = 5.0
"""Seconds for questions to the engine. Leases are also renewed without it."""
PASSES = 3
"""How often a round goes through the rows, so that a moved agent leaves its node and takes the next in one round."""


def tick() -> float:
    """Returns seconds of a clock that is never set, and that also runs while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leasing(LastingThread):
    """The thread that grants leases while `leads` is true, if each node has a gateway."""

    def __init__(self, leads: Callable[[], bool], pulse: Pulse | None = None) -> None:
        super().__init__(name="leases", end_within=WITHIN)
        self._leads = leads
        self._pulse = pulse or Pulse()
        self._round = Round()

    def _run(self) -> None:
        while settings.BERTH_GATEWAY_ON_EACH_NODE and not self._stopped.wait(EVERY):
            try:
                with self._pulse.work(within=STEP, name="leases"):
                    self._try()
            except Exception:
                log.exception("A round of leases failed; the next one tries again.")

    def _try(self) -> None:
        try:
            close_old_connections()
            if self._leads() and not read_hold() and is_needed():
                self._round.run()
            else:
                self._round = Round()  # what it knows is outdated
        except (EngineError, DatabaseError) as error:
            log.warning("No leases can be granted: %s", type(error).__name__)
        finally:
            connections.close_all()


def threads_for_gateways(leads: Callable[[], bool], pulse: Pulse) -> tuple[Gateways, Leasing]:
    return Gateways(leads, pulse), Leasing(leads, pulse)


class Round:
    """A leader's rounds, with what it knows from earlier ones."""

    def __init__(self, now: Callable[[], float] = tick) -> None:
        self._now = now
        self._ways: Mapping[str, Transport] = {}
        self._heard: dict[str, float] = {}
        self._left: dict[Holding, float] = {}
        self._sick, self._were_sick = set[str](), set[str]()
        """Nodes whose gateways left a question unanswered in this round (they are not asked again) and in the last."""
        self._hanging = set[str]()
        """Nodes whose gateways report their clocks but take no lease. They count as away, because their leases end."""

    def run(self) -> None:
        """Runs one round. Raises `EngineError` only if no gateway is known yet."""
        self._sick, self._were_sick = set(), self._sick
        places = self._look()
        clocks = ask_all(lambda _, way: GatewayClient(way, within=WITHIN).read_clock(), self._ways, within=WITHIN)
        now = self._now()
        holdings = read_holdings()
        for each in holdings:
            self._heard.setdefault(each.node, now)
        self._hanging = self._grant(holdings, clocks)  # before anything that may take long
        self._heard |= dict.fromkeys(clocks.keys() - self._hanging, now)
        granted = set(holdings)
        for _ in range(PASSES):
            if places is None or not self._move(holdings, places, clocks):
                break
            holdings = read_holdings()
        self._grant([each for each in holdings if each not in granted], clocks)

    def _look(self) -> Mapping[str, str] | None:
        """Returns where agents run, or None if the engine does not answer; then leases stay on their nodes."""
        try:
            with get_engine().deadline(LOOK_WITHIN):
                self._ways, places = get_engine().gateways(), get_engine().places()
        except EngineError:
            if not self._ways:
                raise
            return None
        return places

    def _move(self, holdings: Iterable[Holding], places: Mapping[str, str], clocks: Mapping[str, GatewayClock]) -> bool:
        """Moves projects between nodes. Returns whether rows have changed."""
        self._left = {each: self._left.get(each, self._now()) for each in holdings if each.leaves}
        elsewhere = [each for each in self._left if self._is_elsewhere(each, places)]
        void, sick = make_void(elsewhere, self._well(clocks), within=WITHIN)
        self._sick |= sick
        leaving, changed = [], False
        for each in holdings:
            node = places.get(each.key, "")
            step = next_step(
                holder=each.node,
                leaves=each.leaves,
                runs_on=node if node in clocks or node == each.node else "",
                is_void=each in void,
                left_for=self._now() - self._left.get(each, self._now()),
                counts=each.counts,
                is_silent=self._is_silent(each.node),
            )
            if step is Step.LEAVE:
                leaving.append(each)
            elif step is Step.TAKE:
                changed |= take(each, node)
            elif step is Step.LET_GO:
                changed |= let_go(each)
        leave(leaving)
        return changed or bool(leaving)

    @staticmethod
    def _is_elsewhere(holding: Holding, places: Mapping[str, str]) -> bool:
        return not holding.counts or places.get(holding.key, holding.node) != holding.node

    def _is_silent(self, node: str) -> bool:
        return self._now() - self._heard.get(node, self._now()) >= SILENT_AFTER

    def _well(self, clocks: Mapping[str, GatewayClock]) -> dict[str, Transport]:
        """Returns the gateways that answer, those that left a question unanswered in the last round at the end."""
        nodes = sorted(clocks.keys() - self._sick, key=self._were_sick.__contains__)
        return {node: self._ways[node] for node in nodes}

    def _grant(self, holdings: Iterable[Holding], clocks: Mapping[str, GatewayClock]) -> set[str]:
        """Grants leases. The clocks must be read before the rows. Returns the nodes whose gateways take no lease."""
        versions: dict[str, dict[str, int]] = defaultdict(dict)
        for each in holdings:
            if each.counts and not each.leaves and each.node in clocks:
                versions[each.node][each.key] = each.version
        ways = {node: way for node, way in self._well(clocks).items() if node in versions.keys() | self._hanging}
        leases = {node: clocks[node].lease() for node in ways}
        renewed = ask_all(partial(_renew, versions=versions, leases=leases), ways, within=WITHIN)
        hanging = ways.keys() - renewed.keys()
        self._sick |= hanging
        until = time.monotonic() + FILL_WITHIN
        for node, done in renewed.items():
            if missed := versions.get(node, {}).keys() - done:
                self._fill(node, missed, leases[node], until)
        return hanging

    def _fill(self, node: str, missed: Iterable[str], lease: Lease, until: float) -> None:
        try:
            client = GatewayClient(self._ways[node], within=WITHIN)
            lease_entries(client, missed, node=node, lease=lease, goes_on=lambda: time.monotonic() < until)
        except EngineError:
            self._sick.add(node)


def _renew(
    node: str, way: Transport, *, versions: Mapping[str, Mapping[str, int]], leases: Mapping[str, Lease]
) -> set[str]:
    return GatewayClient(way, within=WITHIN).renew(versions.get(node, {}), leases[node])
