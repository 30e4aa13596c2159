"""Ensures that no agent runs without the firewall that it needs, and that staff know why."""

import logging
import time
from functools import partial

from django.conf import settings
from django.db import connections

from accounts import clock
from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.processes.side_work import SideWork, begin_thread
from projects.models import Project, Watch
from projects.rules.permissions import Egress
from projects.rules.status.lifecycle import UNPROTECTED, Desired
from projects.services.gateway.confinement import is_confined
from projects.services.operations import failure
from projects.watcher.heartbeat import FIREWALL, STEP, Pulse
from projects.watcher.leader import note_firewall
from projects.watcher.threads import ENDS_WITHIN, PeriodicTask

log = logging.getLogger(__name__)

FIREWALL_EVERY = 5.0
"""Seconds between two checks of the rules. Missing rules are back after at most this and the time to set them."""

WITHIN = 1.0
"""Seconds for which a round waits for a check, which normally takes some hundredths of a second. An engine may never
answer about its networks and yet about its containers: then the rounds go on without the firewall's state."""

PROBE_FIRST, PROBE_EVERY, PROBE_AGAIN = 15.0, 300.0, 5.0
"""Seconds until the first probe from a container, between two probes, and after a probe that was not blocked."""

UNREFUSED_PROBES = 2
"""How many unblocked probes in a row prove that the rules do not work. A single one may coincide with a rate limit or a
change of rules."""


class Protection:
    """The state of the firewall, for the watcher's thread only. `barred` says that no agent may run now, by the last
    check that was completed. The engine also checks the rules before each start."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        self._pulse = pulse or Pulse()
        self.barred = False
        self._again_at = 0.0
        self._warning: str | None = None
        self._trouble = ""
        self._check: SideWork[str | None] | None = None
        self._probe = Probe(self._pulse)

    def step(self) -> None:
        """Restores the firewall rules if they are missing. Logs once why they cannot be set."""
        if self._check is None and time.monotonic() < self._again_at:
            return
        self._pulse.expect(FIREWALL)
        if (check := self._find_ended()) is not None:
            self._check = None
            self._note(check)
        self._pulse.expect(STEP)

    def stop(self) -> None:
        if self._check is not None:
            self._check.wait(ENDS_WITHIN)
        self._probe.stop()

    def _find_ended(self) -> SideWork[str | None] | None:
        """Returns the check if it is over. Begins one, in another thread if there is one, unless one is under way."""
        check, within = self._check, 0.0
        if check is None:
            self._again_at, within = time.monotonic() + FIREWALL_EVERY, WITHIN
            self._check = check = SideWork(self._ensure)
            begin_thread(partial(_do_apart, check))
        if not check.wait(within):
            check.do()  # does nothing if a thread has begun it
        return check if check.wait(0.0) else None

    def _ensure(self) -> str | None:
        with self._pulse.work(within=FIREWALL, name="firewall"):
            return get_engine().ensure_firewall()

    def _note(self, check: SideWork[str | None]) -> None:
        engine, logged = get_engine(), self._warning
        try:
            found = check.result(within=0.0)
        except EngineError as error:
            self._note_trouble(str(error))
            return
        self._note_trouble("")
        self._warning = found or self._probe.warning
        self.barred = self._warning is not None and engine.requires_firewall()
        note_firewall(self._warning or "", bars_agents=self.barred)
        if self._warning and self._warning != logged:
            log.warning("%s%s", self._warning, " No agent runs until then." if self.barred else "")
        self._probe.step()

    def _note_trouble(self, why: str) -> None:
        """Logs once why the engine does not tell whether the rules are in force. All agents stay as they are."""
        if why and not self._trouble:
            log.warning("The agents' firewall cannot be checked: %s", why)
        self._trouble = why


def _do_apart(check: SideWork[str | None]) -> None:
    """Checks in a thread of its own, which leaves no connection to the database open."""
    try:
        check.do()
    finally:
        connections.close_all()


class Probe(PeriodicTask):
    """Tries forbidden addresses from a container, in a thread of its own, because that takes seconds."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        super().__init__(again_at=time.monotonic() + PROBE_FIRST)
        self._pulse = pulse or Pulse()
        self.warning: str | None = None
        self._unrefused = 0

    def step(self) -> None:
        """Begins a probe if one is due. Returns at once."""
        self._begin(now=time.monotonic(), every=PROBE_EVERY)

    def _run(self) -> None:
        try:
            with self._pulse.work(within=2 * FIREWALL):
                warning = get_engine().probe_firewall()
        except EngineError as error:
            log.info("The agents' firewall could not be probed from a container: %s", error)
            return
        except Exception:
            log.exception("The probe of the agents' firewall failed; a later one tries again.")
            return
        self._unrefused = self._unrefused + 1 if warning else 0
        self.warning = warning if self._unrefused >= UNREFUSED_PROBES else None
        if warning:
            self._again_at = time.monotonic() + PROBE_AGAIN


def is_exposed(project: Project) -> bool:
    """Returns whether the agent's container may reach only the gateway, but no rules enforce that. It must not run."""
    if project.egress != Egress.GATEWAY or not project.is_behind_gateway:
        return False
    warned = Watch.objects.filter(pk=settings.BERTH_INSTANCE).exclude(firewall_warning="")
    return warned.exists() and is_confined(project)


def note_protection(project: Project, *, barred: bool) -> None:
    """Records in the row that the agent is down because it may not run, and clears that once it runs."""
    facts = project.facts()
    if facts.operation or facts.desired != Desired.RUNNING or facts.suspended or facts.gave_up or facts.failed:
        return
    if barred and not facts.is_up and not facts.unprotected:
        values = failure(UNPROTECTED)
    elif not barred and facts.is_up and facts.unprotected:
        values = {"failure_code": "", "failed_at": None}
    else:
        return
    rows = Project.objects.filter(pk=project.pk, operation="", generation=project.generation)
    rows.update(**values, updated_at=clock.now())
