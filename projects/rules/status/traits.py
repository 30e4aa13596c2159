"""What each status says of itself: the columns of the table in `projects.rules.status.statuses`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from projects.rules.status.lifecycle import Action, Operation


class Condition(StrEnum):
    """How the agent is. A start has nothing to do where it is up; a stop has been carried out where it is down."""

    CHANGING = "changing"
    UP = "up"
    DOWN = "down"
    ENDED = "ended"
    UNKNOWN = "unknown"


class Look(StrEnum):
    """The class of a status on the pages: its icon and its colours. Each has one rule in berth.css."""

    MOVING = "moving"
    WELL = "well"
    TROUBLE = "trouble"
    ENDED = "ended"
    HELD = "held"
    STILL = "still"
    UNKNOWN = "unknown"


class ForAlerts(StrEnum):
    """What the alerts to owners take a status for (`projects.watcher.telling.troubles`)."""

    WELL = "well"
    """Any trouble is over once this has lasted for a while."""
    TROUBLE = "trouble"
    """To be told once it has lasted for a while."""
    WORSE = "worse"
    """Another event tells of it. Trouble that was told goes on."""
    OVER = "over"
    """Nobody waits for the agent to be well again: what was known of its trouble is forgotten."""
    PASSING = "passing"
    """Neither begins nor ends anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """A row of the table. No field has a default, so that the type checker names each that a new status lacks.

    `in_flight` is the operation that the status stands for while it is carried out. A settled status does not change
    by itself within the next moments. `buttons` are the actions to offer where no operation is in flight.
    `reason_level` is the class of the message that says why. `meaning` is shown where there is no reason to show.
    The README repeats `meaning` and `next_step`; the command line knows colours and what it waits for by itself, and
    a test holds it to this table.
    """

    in_flight: Operation
    condition: Condition
    is_settled: bool
    buttons: frozenset[Action]
    look: Look
    for_alerts: ForAlerts
    reason_level: Literal["info", "warning", "error"]
    meaning: str
    next_step: str
