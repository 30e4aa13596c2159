"""Keeps the gateway running and up to date, in a thread of its own, so that no round waits for it.

Every few seconds it starts the gateway unless it runs, compares its entries with the rows, and reads what it has
counted and seen.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from django.db.models import QuerySet

from accounts import clock
from containers.errors import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from projects.models import Gateway, Project
from projects.models.columns.at_rest import AT_REST
from projects.models.installation import read_hold
from projects.services.gateway.provisioning import (
    ASTRAY,
    FORMER_GOES_ON,
    NOT_DOWN,
    PARTLY,
    REFUSES_SOME,
    SOME_SILENT,
    ensure_gateway,
)
from projects.services.limits.budgets import clear_past_budgets
from projects.watcher.gateway.changed_sightings import Remembered
from projects.watcher.gateway.node_polling import look_at_all
from projects.watcher.gateway.plain_credentials import PlainCredentials
from projects.watcher.gateway.sightings import find_astray, note_absence, note_sightings
from projects.watcher.gateway.usage import doubt_sums, forget_nodes
from projects.watcher.heartbeat import Pulse
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two checks, and so the longest delay of a change that could not be sent at once."""

FIRST = 1.0
"""Seconds until the first check, and between two checks while another watcher leads. The gateway should run before the
first agent."""

STEP = 120.0
"""Seconds for one check: creating the gateway, and all questions to it."""

END_WITHIN = 2.0
"""Seconds that a check under way gets when the watcher ends. The next watcher continues an interrupted one."""


class Gateways(LastingThread):
    """The thread that looks after the gateway while `leads` is true."""

    def __init__(self, leads: Callable[[], bool], pulse: Pulse | None = None) -> None:
        super().__init__(name="gateway", end_within=END_WITHIN)
        self._leads = leads
        self._pulse = pulse or Pulse()
        self._remembered = Remembered()
        self._plain = PlainCredentials()

    def _run(self) -> None:
        pause = FIRST
        while not self._stopped.wait(pause):
            try:
                with self._pulse.work(within=STEP, name="gateway"):
                    pause = EVERY if self._try() else FIRST
            except Exception:
                log.exception("The check of the gateway failed; the next one tries again.")

    def _try(self) -> bool:
        """Returns whether this watcher leads and repairs are on, even if the check failed."""
        try:
            close_old_connections()
            if not self._leads() or read_hold():
                doubt_sums()
                return False
            self._plain.step()
            look_after_gateway(self._remembered)
        except DatabaseError as error:
            log.warning("The gateway could not be checked: %s", type(error).__name__)
        finally:
            connections.close_all()
        return True


def look_after_gateway(before: Remembered | None = None) -> None:
    """Checks the gateway once. Records errors of the engine for staff; the next check tries again."""
    try:
        warning = _look(before) if is_needed() else _retire()
    except EngineError as error:
        _note_warning(str(error)[:300])
        note_absence(since=_last_found())
    else:
        _note_warning(warning[:300])


def _look(before: Remembered | None) -> str:
    """Starts and updates the gateway. Returns a warning about the running gateway, or an empty text."""
    try:
        place = ensure_gateway()
    except EngineUnavailableError as error:
        return _look_at_running(before, error)
    sightings, silent, refused, began, troubles = look_at_all(get_engine().gateways())
    note_sightings(sightings, before, began=began)
    clear_past_budgets()
    forget_nodes(place.address.nodes)
    late = place.address.warning
    if silent := silent - place.address.without:
        nodes = ", ".join(sorted(silent))[: 80 if late else 150]
        return f"{SOME_SILENT.format(count=len(silent), nodes=nodes)} {late}".rstrip()
    if late:
        return f"{FORMER_GOES_ON} {late}"
    if troubles:
        return _describe_troubles(troubles)
    if refused:
        return f"{REFUSES_SOME} {', '.join(sorted(refused))}. The log says why."
    return ASTRAY.format(address=astray) if (astray := find_astray(sightings)) else ""


def _look_at_running(before: Remembered | None, error: EngineUnavailableError) -> str:
    """Looks at a gateway that the engine does not tell about. It may be at work all the same: an engine may answer
    about its containers and never about its networks. Returns a warning. Raises `error` if no gateway answers.
    """
    try:
        found = look_at_all(get_engine().gateways())
    except EngineError:
        raise error from None
    note_sightings(found.sightings, before, began=found.began)
    clear_past_budgets()
    Gateway.objects.filter(pk=settings.BERTH_INSTANCE, host__isnull=False).update(found_at=clock.now())
    return f"{PARTLY} {error}"


def _describe_troubles(troubles: Mapping[str, str]) -> str:
    """Returns a warning with what the first gateway says, and the nodes of all that have trouble."""
    nodes = ", ".join(node for node in sorted(troubles) if node)[:80]
    return f"{PARTLY} {f'Nodes: {nodes}. ' if nodes else ''}{troubles[min(troubles)]}"


def _retire() -> str:
    """Removes the gateway if it is no longer needed. Keeps its data for a later use."""
    here = Gateway.objects.filter(pk=settings.BERTH_INSTANCE, host__isnull=False)
    if here.exists():
        look_at_all(get_engine().gateways())
        get_engine().remove_gateway()
        here.update(host=None, found_at=None)
    return ""


def is_needed() -> bool:
    """Returns whether the gateway is needed: even if it is switched off while agents with virtual credentials run."""
    return settings.BERTH_GATEWAY or _behind().exists()


def _behind() -> "QuerySet[Project]":
    return Project.objects.filter(~AT_REST, instance=settings.BERTH_INSTANCE, is_behind_gateway=True)


def _last_found() -> datetime | None:
    """Returns when the gateway was last found running, if known."""
    here = Gateway.objects.filter(pk=settings.BERTH_INSTANCE, host__isnull=False)
    found: datetime | None = here.values_list("found_at", flat=True).first()
    return found


def _note_warning(warning: str) -> None:
    rows = Gateway.objects.filter(pk=settings.BERTH_INSTANCE)
    before = rows.values_list("warning", flat=True).first()
    if before == warning or (before is None and not warning):
        return
    Gateway.objects.update_or_create(pk=settings.BERTH_INSTANCE, defaults={"warning": warning})
    if warning.startswith(NOT_DOWN):
        log.warning("%s", warning)
    elif warning:
        log.warning("The gateway does not work: %s", warning)
    else:
        log.info("The gateway works.")
