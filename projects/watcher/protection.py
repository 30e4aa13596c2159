"""Ensures that no agent runs without the firewall that it needs, and that staff know why."""

import logging
import time

from django.conf import settings

from accounts import clock
from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.models import Project, Watch
from projects.rules.permissions import Egress
from projects.rules.status.lifecycle import UNPROTECTED, Desired
from projects.services.gateway.confinement import is_confined
from projects.services.operations import failure
from projects.watcher.heartbeat import FIREWALL, STEP, Pulse
from projects.watcher.leader import note_firewall
from projects.watcher.threads import PeriodicTask

log = logging.getLogger(__name__)

FIREWALL_EVERY = 5.0
"""Seconds between two checks of the rules. Missing rules are back after at most this and the time to set them."""

PROBE_FIRST, PROBE_EVERY, PROBE_AGAIN = 15.0, 300.0, 5.0
"""Seconds until the first probe from a container, between two probes, and after a probe that was not blocked."""

UNREFUSED_PROBES = 2
"""How many unblocked probes in a row prove that the rules do not work. A single one may coincide with a rate limit or a
change of rules."""


class Protection:
    """The state of the firewall, for the watcher's thread only. `barred` says that no agent may run now."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        self._pulse = pulse or Pulse()
        self.barred = False
        self._again_at = 0.0
        self._warning: str | None = None
        self._probe = Probe(self._pulse)

    def step(self) -> None:
        """Restores the firewall rules if they are missing. Logs once why they cannot be set."""
        if time.monotonic() < self._again_at:
            return
        self._again_at = time.monotonic() + FIREWALL_EVERY
        self._pulse.expect(FIREWALL)
        engine, logged = get_engine(), self._warning
        self._warning = engine.ensure_firewall() or self._probe.warning
        self.barred = self._warning is not None and engine.requires_firewall()
        note_firewall(self._warning or "", bars_agents=self.barred)
        if self._warning and self._warning != logged:
            log.warning("%s%s", self._warning, " No agent runs until then." if self.barred else "")
        self._probe.step()
        self._pulse.expect(STEP)

    def stop(self) -> None:
        self._probe.stop()


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
