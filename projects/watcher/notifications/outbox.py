"""Sends the mails of the outbox in a thread of its own, so that no round and no request waits for a mail server."""

import logging

from django.conf import settings
from django.db import DatabaseError, connections

from accounts.services import code_alarm, email_change, invitations, sign_up
from accounts.services.outbox import Renderer, send_due
from projects.services.alerts import sending
from projects.services.limits import budgets, disk
from projects.watcher.heartbeat import SENDING, Pulse
from projects.watcher.notifications import alert_mail, budget_mail, crash_mail, disk_mail
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two checks of the outbox."""

LONGEST_PAUSE = 60.0
"""The maximum number of seconds between two checks while the mail server fails. Each pause is twice the one before."""

END_WITHIN = 5.0
"""Seconds that a mail under way gets when the watcher ends. If it takes longer, the next watcher sends it again."""

RENDERERS: dict[str, Renderer] = {
    sign_up.KIND: sign_up.render_sign_up_mail,
    invitations.KIND: invitations.render_invitation,
    code_alarm.KIND: code_alarm.render_code_alarm,
    email_change.ASKED: email_change.render_new_email_mail,
    email_change.CHANGED: email_change.render_changed_email_mail,
    crash_mail.KIND: crash_mail.render_crash_mail,
    disk.MAIL: disk_mail.render_disk_mail,
    budgets.MAIL: budget_mail.render_budget_mail,
    sending.MAIL: alert_mail.render_alert_mail,
}


class Outbox(LastingThread):
    """The thread that sends the outbox's mails. It needs neither the engine nor a leader, so it works even if rounds
    fail."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("outbox")
        super().__init__(name="outbox", end_within=END_WITHIN, beat=self._beat)

    def stop(self) -> None:
        """Returns once the mail under way is sent, or after a few seconds."""
        super().stop()

    def _run(self) -> None:
        pause = EVERY
        while not self._is_stopped(pause):
            pause = EVERY if self._send() else min(pause * 2, LONGEST_PAUSE)

    def _is_stopped(self, pause: float = 0.0) -> bool:
        """Waits, and returns whether to end. Called before each pass and mail, so it is also the sign of life."""
        self._beat.expect(pause + SENDING)
        return self._stopped.wait(pause)

    def _send(self) -> bool:
        """Sends due mails. Returns False if the next check should wait longer."""
        try:
            return not settings.BERTH_SENDS_MAIL or send_due(renderers=RENDERERS, is_stopped=self._is_stopped)
        except DatabaseError as error:
            log.warning("The outbox cannot be read: %s", type(error).__name__)
        except Exception:
            log.exception("The outbox failed; it is tried again.")
        finally:
            connections.close_all()
        return False
