"""Leader election by a lease in the database, so that one watcher at a time is active, and the leader's heartbeat."""

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.db.models import Case, DateTimeField, F, Q, Value, When
from django.db.utils import Error as DatabaseError

from accounts import clock
from accounts.moments import over, recent
from projects.models import Watch
from projects.models.processes.holder import name_process, process_has_ended
from projects.rules.status import lifecycle

log = logging.getLogger(__name__)


SURE_FOR = 5.0
"""Seconds for which a watcher need not check again whether it leads. Others wait longer for its lease to end."""


def _tick() -> float:
    """Returns seconds of a clock that is never set, and that also runs while the machine sleeps.

    It does not count the time for which a virtual machine was paused by its host or for a snapshot.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class LeadershipLostError(Exception):
    """Another watcher leads now."""


def name_watcher() -> str:
    """Returns a name of this process by which others on this machine can find out whether it has ended.

    If the machine cannot be identified, the name ends with random characters.
    """
    return name_process() or f"{socket.gethostname()[:30]}-{os.getpid()}-{secrets.token_hex(8)}"


class Leadership:
    """Whether this watcher may continue. It may have been paused for minutes between any two lines, for example with
    its whole machine, and another one may lead now.
    """

    def __init__(self, holder: str, expect: Callable[[float], object] = lambda _: None) -> None:
        self._holder, self._expect = holder, expect
        self._sure_until = 0.0
        self._leads = False

    def take(self, become: Callable[[str], bool]) -> bool:
        """Becomes the leader. Returns False if another watcher is the leader."""
        began = _tick()
        self._leads = become(self._holder)
        self._sure_until = began + SURE_FOR if self._leads else 0.0
        return self._leads

    def require(self, *, within: float = 0.0) -> None:
        """Checks that this watcher leads. `within` promises the next sign of life within this many seconds.

        If the last check was some seconds ago, renews the lease, also an expired one that nobody took. Raises
        `LeadershipLostError`, also if another watcher has led meanwhile and stepped down, because what this one has
        seen is outdated.
        """
        if within:
            self._expect(within)
        if _tick() >= self._sure_until and not self.take(_renew):
            raise LeadershipLostError("Another watcher has led meanwhile, as this one was silent for too long.")

    @property
    def is_due(self) -> bool:
        """Whether this watcher leads, as far as it knows, and has not renewed the lease for some seconds."""
        return self._leads and _tick() >= self._sure_until

    def renew(self) -> None:
        """Renews the lease unless another watcher has taken it, of which `require` tells. For another thread."""
        self.take(_renew)

    def is_held(self) -> bool:
        return is_leader(self._holder)

    def is_elsewhere(self) -> bool:
        return another_leads(self._holder)

    def give_back(self) -> None:
        self._leads = False
        step_down(self._holder)


def become_leader(holder: str) -> bool:
    """Takes or renews the lease for 15 seconds. Returns whether `holder` has it.

    The lease of a process that was killed on this machine is free at once.
    """
    now = clock.now()
    free = Q(lease_until=None) | over("lease_until", at_most=lifecycle.LEASE, now=now) | Q(holder=holder)
    mine = Watch.objects.filter(free, instance=settings.BERTH_INSTANCE)
    lease = {"holder": holder, "lease_until": now + lifecycle.LEASE}
    if mine.update(**lease):
        return True
    here, is_new = Watch.objects.get_or_create(instance=settings.BERTH_INSTANCE)
    if is_new:
        return bool(mine.update(**lease))
    left = Watch.objects.filter(instance=settings.BERTH_INSTANCE, holder=here.holder)
    return process_has_ended(here.holder) and bool(left.update(**lease))


def _renew(holder: str) -> bool:
    mine = Watch.objects.filter(instance=settings.BERTH_INSTANCE, holder=holder)
    return bool(mine.update(lease_until=clock.now() + lifecycle.LEASE))


def displace(holder: str, heartbeat_at: datetime | None, *, by: str) -> bool:
    """Takes the lease from this leader if it has written no heartbeat since. Returns whether `by` has it."""
    still = Watch.objects.filter(instance=settings.BERTH_INSTANCE, holder=holder, heartbeat_at=heartbeat_at)
    return bool(still.update(holder=by, lease_until=clock.now() + lifecycle.LEASE))


def is_leader(holder: str) -> bool:
    """Returns whether `holder` has the lease. Neither takes nor renews it."""
    now = clock.now()
    held = Watch.objects.filter(instance=settings.BERTH_INSTANCE, holder=holder)
    return held.exclude(over("lease_until", at_most=lifecycle.LEASE, now=now)).exists()


def another_leads(holder: str) -> bool:
    """Returns whether a watcher with another name has the lease."""
    now = clock.now()
    held = Watch.objects.filter(instance=settings.BERTH_INSTANCE).exclude(holder__in=["", holder])
    return held.exclude(over("lease_until", at_most=lifecycle.LEASE, now=now) | Q(lease_until=None)).exists()


def beat(holder: str, at: datetime) -> None:
    """Records that every change on the engine up to `at` is in the rows, and renews the lease.

    The heartbeat never goes back, because the engine's events may have vouched for a later moment. One in the future is
    replaced.
    """
    now = clock.now()
    is_later = When(recent("heartbeat_at", within=now - at, now=now), then=F("heartbeat_at"))
    Watch.objects.filter(instance=settings.BERTH_INSTANCE, holder=holder).update(
        heartbeat_at=Case(is_later, default=Value(at, output_field=DateTimeField())),
        lease_until=now + lifecycle.LEASE,
    )


def beat_again(holder: str, at: datetime) -> None:
    """Records a heartbeat between two rounds, without renewing the lease. The heartbeat never goes back."""
    now = clock.now()
    held = Watch.objects.filter(instance=settings.BERTH_INSTANCE, holder=holder, heartbeat_at__lt=at)
    held.exclude(over("lease_until", at_most=lifecycle.LEASE, now=now)).update(heartbeat_at=at)


def note_firewall(warning: str, *, bars_agents: bool) -> None:
    """Records for staff why the firewall is not in place (empty if it is), and whether no agent may run."""
    values = {"firewall_warning": warning[:1000], "bars_agents": bars_agents}
    Watch.objects.filter(instance=settings.BERTH_INSTANCE).exclude(**values).update(**values)


def note_names(warning: str) -> None:
    """Records for staff why agents' look-ups at the engine's name server are not limited; empty if they are."""
    values = {"names_warning": warning[:1000]}
    Watch.objects.filter(instance=settings.BERTH_INSTANCE).exclude(**values).update(**values)


def step_down(holder: str) -> None:
    """Returns the lease, unless the database fails."""
    try:
        Watch.objects.filter(instance=settings.BERTH_INSTANCE, holder=holder).update(holder="", lease_until=None)
    except DatabaseError as error:
        log.warning("The lease could not be returned, and ends by itself in seconds: %s", error)
