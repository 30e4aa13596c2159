"""The watcher's loop: every two seconds it reconciles and beats, and it inspects containers at once after an event.

Events of the engine only make it prompt. The rows are right because every round asks for the engine's list: a missed
event costs at most two seconds. Rounds start from the containers; once a minute one goes through all rows.
"""

import logging
import threading
import time
from collections.abc import Callable

from django.db import close_old_connections
from django.db.utils import Error as DatabaseError

from containers.errors import EngineError
from containers.vocabulary import EngineEvent
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.gateway.leases import threads_for_gateways
from projects.watcher.heartbeat import IDLE, STEP, Pulse
from projects.watcher.leader import Leadership, LeadershipLostError, beat, become_leader, name_watcher
from projects.watcher.lease_renewal import LeaseRenewal
from projects.watcher.listener import Listener
from projects.watcher.name_limits import NameLimits
from projects.watcher.notifications.alerts import Alerts
from projects.watcher.notifications.outbox import Outbox
from projects.watcher.protection import Protection
from projects.watcher.reconcile.background import Background
from projects.watcher.reconcile.changed import look_at
from projects.watcher.reconcile.changed_keys import ChangedKeys
from projects.watcher.reconcile.event_freshness import EventFreshness
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.inspection import AT_ONCE
from projects.watcher.reconcile.pending_events import HEALTH
from projects.watcher.reconcile.report_inspections import ReportInspections
from projects.watcher.reconcile.round import Round
from projects.watcher.reconcile.spot_checks import SpotChecks
from projects.watcher.reports import Reports
from projects.watcher.succession import Succession
from projects.watcher.upkeep.bot_claims import BotClaims
from projects.watcher.upkeep.chores import do_chores
from projects.watcher.upkeep.disk import Disks
from projects.watcher.upkeep.images import Images
from projects.watcher.upkeep.retention import Retention
from projects.watcher.upkeep.samples import Samples

log = logging.getLogger(__name__)

LOOK_EVERY, REST = 2.0, 0.5
"""Seconds from the beginning of one round to the next, and at least between two, no matter how long one takes. A
heartbeat has the time of a beginning, and counts for five seconds."""

VOLUMES_EVERY, COMPARE_EVERY = 30.0, 60.0
"""Seconds between two rounds that check volumes (if the last round succeeded), and between two that trust no row."""

SETTLE = 0.02
"""Seconds to collect events before inspecting their containers, because the end of a run causes several in a row."""


class Watcher:
    """`stop()` may be called from a signal handler or another thread."""

    def __init__(self, pulse: Pulse | None = None, *, name: str = "") -> None:
        """`pulse` is the sign of life for the parent process. `name` must be unique among several watchers."""
        self._pulse, self.name = pulse or Pulse(), name or name_watcher()
        self._stopped, self._changed = threading.Event(), ChangedKeys()
        self._failing = self._may_look = self._may_repair = False  # as of the last round
        self._volumes_again_at = self._compare_again_at = 0.0
        self._ends, self._retention = RunEnds(), Retention()
        self._leadership, self._protection = Leadership(self.name, self._pulse.expect), Protection(self._pulse)
        self._succession = Succession(self.name, self._leadership, self._pulse)
        self._background = Background(self._pulse, self._leadership.is_elsewhere)
        leads = self._leadership.is_held
        self._spot_checks = SpotChecks(self._changed.add, self._pulse, self._ends)
        self._prompt = ReportInspections(leads, self._ends, self._changed.add, self._pulse)
        self._reports, self._name_limits = Reports(self._prompt.look_at, self._pulse), NameLimits(leads, self._pulse)
        others = Disks(leads, self._changed.add), *threads_for_gateways(leads, self._pulse), Images(leads)
        self._vouching = EventFreshness(self.name, self._ends, self._pulse)
        self._listener = Listener(self._hear, self._miss, self._pulse, self._vouching.note_open)
        self._bot_claims, notifications = BotClaims(self._pulse), (Outbox(self._pulse), Alerts(leads, self._pulse))
        beside = self._prompt, self._vouching, Samples(leads, self._pulse), LeaseRenewal(self._leadership, self._pulse)
        self._threads = *notifications, *beside, self._reports, self._spot_checks, self._name_limits, *others

    def stop(self) -> None:
        self._stopped.set()
        self._changed.wake.set()

    def run(self) -> None:
        for thread in (self._listener, *self._threads):
            thread.start()
        while not self._stopped.is_set():
            began = time.monotonic()
            self._confine(self._look)
            rest = time.monotonic() + min(REST, LOOK_EVERY)
            self._wait(rest if self._may_look and self._changed.has_put_off else max(began + LOOK_EVERY, rest), rest)
        self._listener.stop()
        self._pulse.end()  # the parent process now only waits for the end, as long as for a server
        self._background.stop()
        self._leadership.give_back()
        for each in (self._bot_claims, self._protection, *self._threads):
            each.stop()

    def _confine(self, look: Callable[[], None]) -> None:
        try:
            self._pulse.expect(STEP)
            look()
            self._failing = False
        except (EngineError, DatabaseError, LeadershipLostError) as error:
            if not self._failing:
                log.warning("The watcher sees nothing: %s", error)
            self._failing = True
            self._spot_checks.doubt_all()
            if isinstance(error, DatabaseError):
                self._vouching.doubt()
        except Exception:
            log.exception("The watcher's round failed; the next one tries again.")

    def _wait(self, until: float, rest: float) -> None:
        """Waits until the next round is due; after `rest`, many changes bring it forward. Inspects after few events."""
        while not self._stopped.is_set() and (left := until - time.monotonic()) > 0:
            self._pulse.expect(IDLE)
            if self._changed.wait(left) and not self._stopped.is_set():
                if not self._may_look or len(self._changed) > AT_ONCE:  # one list is better than many inspections
                    self._stopped.wait(max(0.0, rest - time.monotonic()))
                    return
                self._confine(self._look_at_changed)
                self._stopped.wait(SETTLE)

    def _look_at_changed(self) -> None:
        close_old_connections()
        self._leadership.require()
        with self._changed.taking() as (keys, expected):
            may, barred, hand_over = self._may_repair, self._protection.barred, self._background.hand_over
            result = look_at(keys, self._ends, expected=expected, repair=may, barred=barred, hand_over=hand_over)
        self._changed.put_off(result.put_off | result.passed_over)

    def _look(self) -> None:
        close_old_connections()
        self._may_look = False
        leads = self._leadership.take(become_leader) or self._succession.step()
        self._changed.ignore(all_that_comes=not leads)
        if not leads:
            self._follow_nothing()
            return
        self._retention.step()  # before the round, because the heartbeat hides how far the clock was moved
        self._protection.step()
        now = time.monotonic()
        include_volumes, narrow = now >= self._volumes_again_at and not self._failing, now < self._compare_again_at
        with self._changed.taking(include_put_off=True) as (changed_keys, _):
            result = self._reconcile(changed_keys, include_volumes=include_volumes, narrow=narrow)
        self._may_look, self._may_repair = True, not result.held
        if not narrow:
            self._compare_again_at = time.monotonic() + COMPARE_EVERY
        self._pulse.expect(STEP)
        for each in (self._reports, self._prompt, self._name_limits):
            each.follow(result.running)
        if result.unwritten or self._pulse.has_hung():
            self._vouching.doubt()
        else:
            beat(self.name, result.at)
            self._vouching.note_round(now, result.in_operation)
        self._changed.put_off(result.put_off | (result.passed_over & changed_keys))
        if include_volumes:
            self._volumes_again_at = time.monotonic() + VOLUMES_EVERY
            do_chores()
        self._bot_claims.step()

    def _reconcile(self, changed_keys: set[str], *, include_volumes: bool, narrow: bool) -> Round:
        return reconcile(
            changed_keys=changed_keys | self._ends.keys_of_ended(),
            barred=self._protection.barred,
            include_volumes=include_volumes,
            hand_over=self._background.hand_over,
            waiting=self._background.waiting(),
            before_each=lambda: self._leadership.require(within=STEP),
            find_end=self._ends.find,
            narrow=narrow,
            correct=self._spot_checks.correct,
        )

    def _follow_nothing(self) -> None:
        """Stops following agents while another watcher leads. If this one leads again, it first reads all rows."""
        self._spot_checks.correct([])
        for each in (self._reports, self._prompt, self._name_limits):
            each.follow({})
        self._compare_again_at = 0.0

    def _miss(self, *, is_broken: bool) -> None:
        self._ends.note_gap()
        self._vouching.note_gap(is_broken=is_broken)
        if is_broken:
            self._spot_checks.doubt_all()

    def _hear(self, event: EngineEvent) -> None:
        for each in (self._ends.note, self._name_limits.hear, self._spot_checks.hear):
            each(event)
        if event.action.startswith(HEALTH):
            self._prompt.look_at(event.key)  # a round may be waiting for the engine's list
        else:
            self._changed.hear(event)
        self._vouching.hear(event)  # last: everything that it received before a round must be known to that round
