"""Alerts operators while the watcher does not: a thread in each process of the web server.

While the watcher beats, it only compares the keys of this server once a minute. If several of them, or a watcher that
is not quite dead, alert at one moment, the rows ensure that each message is queued and sent once.
"""

import logging
import threading

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from django.db.models import QuerySet

from accounts.services.outbox import send_due
from config.serving.key_comparison import ComparedKeys
from containers.processes.side_work import begin_in_time
from projects.models import AlertDelivery
from projects.models.processes.watcher import is_beating, read_heartbeat
from projects.rules.alerts import AlertKind
from projects.services.alerts.sending import MAIL
from projects.services.alerts.service_notifications import note_service
from projects.watcher.notifications.delivery_threads import DeliveryThreads, Run, find_due
from projects.watcher.notifications.outbox import RENDERERS

log = logging.getLogger(__name__)

EVERY = 15.0
"""Seconds between two checks."""

BEGINS_WITHIN = 0.5
"""Seconds for its thread to begin. A thread that gets no memory never does."""


class FallbackAlerts:
    """`run` begins a piece of work in the background."""

    def __init__(self, run: Run | None = None) -> None:
        self._deliveries, self._keys = DeliveryThreads(run, find=_find_due), ComparedKeys()

    def start(self) -> bool:
        """Starts the thread, which ends with the process. Returns False if the system gives no thread."""
        return begin_in_time(self._go_on, BEGINS_WITHIN)

    def _go_on(self) -> None:
        threading.current_thread().name = "fallback-alerts"
        pause = threading.Event()
        while not pause.wait(EVERY):
            try:
                close_old_connections()
                self._keys.compare()
                self.step()
            except DatabaseError as error:
                log.warning("Operators get no alerts while the database does not answer: %s", type(error).__name__)
            except Exception:
                log.exception("The check of the watcher failed; the next one tries again.")
            finally:
                connections.close_all()

    def step(self) -> None:
        heartbeat = read_heartbeat()
        if heartbeat is not None and is_beating(heartbeat):
            return
        note_service()
        self._deliveries.send_due()
        if settings.BERTH_SENDS_MAIL:
            send_due(renderers=RENDERERS, kinds=[MAIL])


def _find_due() -> "QuerySet[AlertDelivery]":
    return find_due().filter(kind=AlertKind.SERVICE)
