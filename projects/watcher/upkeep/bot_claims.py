"""Confirms bots whose tokens could not be checked before, in a thread of its own: no round waits for Telegram."""

import logging
import threading
import time

from django.conf import settings
from django.db import connections

from projects.credentials.encryption import SecretUnreadableError
from projects.services.credentials.bot_claims import confirm_claim, find_unconfirmed
from projects.watcher.heartbeat import CONFIRMATION, Pulse
from projects.watcher.threads import PeriodicTask

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two passes."""

PASS_SECONDS = 15.0
"""Seconds after which a pass begins no other claim. Each takes at most as long as one question to Telegram may."""

BATCH = 100
"""The maximum number of claims in one pass."""


class BotClaims(PeriodicTask):
    """The passes through the claims."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        super().__init__()
        self._pulse = pulse or Pulse()
        self._stopped = threading.Event()

    def step(self) -> None:
        """Begins a pass if one is due. Returns at once."""
        if settings.BERTH_VERIFY_CREDENTIALS:
            self._begin(now=time.monotonic(), every=EVERY)

    def stop(self) -> None:
        """Waits until the pass has ended, which takes at most as long as one question to Telegram."""
        self._stopped.set()
        super().stop()

    def _run(self) -> None:
        try:
            with self._pulse.work(within=CONFIRMATION):
                confirm_claims(stopped=self._stopped)
        except Exception:
            log.exception("The claims to bots could not be confirmed; the next pass tries again.")
        finally:
            connections.close_all()


def confirm_claims(*, stopped: threading.Event | None = None) -> None:
    """Asks Telegram about one claim after the other until a deadline. An error at one does not affect the others."""
    until = time.monotonic() + PASS_SECONDS
    for project in find_unconfirmed()[:BATCH]:
        if time.monotonic() >= until or (stopped is not None and stopped.is_set()):
            return
        try:
            confirm_claim(project)
        except SecretUnreadableError as error:
            log.warning("%s", error)
        except Exception:
            log.exception("The bot of project %s could not be confirmed.", project.pk)
