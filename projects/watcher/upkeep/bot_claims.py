"""Has the bots confirmed whose tokens could not be checked, in a thread of its own: no round waits for Telegram."""

import logging
import threading
import time

from django.conf import settings
from django.db import connections

from projects.credentials.encryption import SecretUnreadableError
from projects.services.credentials.bot_claims import confirm_claim, find_unconfirmed
from projects.watcher.pulse import CONFIRMATION, Pulse
from projects.watcher.threads import Errands

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two passes."""

PASS_SECONDS = 15.0
"""How long a pass begins with another claim. Each of them takes at most as long as a question to Telegram may."""

BATCH = 100
"""Claims that a pass asks about at most."""


class BotClaims(Errands):
    """The passes through the claims."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        super().__init__()
        self._pulse = pulse or Pulse()
        self._stopped = threading.Event()

    def step(self) -> None:
        """Begins a pass where one is due. Returns at once."""
        if settings.BERTH_VERIFY_CREDENTIALS:
            self._begin(now=time.monotonic(), every=EVERY)

    def stop(self) -> None:
        """Returns when the pass has ended, which takes as long as one question to Telegram may."""
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
    """Asks Telegram about one claim after the other, within one deadline. What breaks at one keeps it from no other."""
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
