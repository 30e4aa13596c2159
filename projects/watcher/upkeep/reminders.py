"""Reminds operators in the log, once a day, of pending decisions. Berth never decides for them."""

import logging
from datetime import timedelta

from accounts import clock
from accounts.moments import is_recent, not_recent
from projects.models import Installation
from projects.models.installation import read_installation
from projects.services.inventory.decisions import describe_overdue

log = logging.getLogger(__name__)

EVERY = timedelta(days=1)


def remind() -> None:
    """Logs a warning for each pending decision, if the last reminder was a day ago or there was none.

    The time is in the row, so that neither a restart nor another watcher repeats it.
    """
    now = clock.now()
    row = read_installation()
    sentences = [describe_overdue()]
    if row.held_because and not is_recent(row.held_since, within=EVERY, now=now):  # a new hold was just logged
        sentences.insert(0, row.held_because)
    due = not_recent("reminded_at", within=EVERY, now=now)
    if any(sentences) and Installation.objects.filter(due, pk=row.pk).update(reminded_at=now):
        for sentence in filter(None, sentences):
            log.warning("%s", sentence)
