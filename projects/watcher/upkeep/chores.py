"""What the watcher does twice a minute beside its rounds: reminders, tallies, and what is left of closed accounts."""

import logging

from projects.services.account.deletion import finish_closed_accounts
from projects.watcher.upkeep.reminders import remind
from projects.watcher.upkeep.tallies import tally_events

log = logging.getLogger(__name__)


def do_chores() -> None:
    """An error in one of them is logged, and keeps neither the others nor the round from what they do."""
    for chore in (remind, tally_events, finish_closed_accounts):
        try:
            chore()
        except Exception:
            log.exception("%s broke; it is tried again.", chore.__name__)
