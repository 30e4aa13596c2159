"""The watcher's work twice a minute besides its rounds: reminders, tallies, and the deletion of closed accounts."""

import logging

from projects.services.account.deletion import finish_closed_accounts
from projects.watcher.upkeep.reminders import remind
from projects.watcher.upkeep.tallies import tally_events

log = logging.getLogger(__name__)


def do_chores() -> None:
    """Runs all chores. Logs an error in one of them, so that it affects neither the others nor the round."""
    for chore in (remind, tally_events, finish_closed_accounts):
        try:
            chore()
        except Exception:
            log.exception("%s failed; it is tried again.", chore.__name__)
