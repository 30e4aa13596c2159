"""The traits of a status: the columns of the table in `projects.rules.status.statuses`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from projects.rules.status.lifecycle import Action, Operation


class Condition(StrEnum):
    """The agent's condition. If it is up, a start has nothing to do; if it is down, a stop is done."""

    CHANGING = "changing"
    UP = "up"
    DOWN = "down"
    ENDED = "ended"
    UNKNOWN = "unknown"


class Look(StrEnum):
    """The CSS class of a status on the pages, with its icon and colours. Each has one rule in berth.css."""

    MOVING = "moving"
    WELL = "well"
    TROUBLE = "trouble"
    ENDED = "ended"
    HELD = "held"
    STILL = "still"
    UNKNOWN = "unknown"


class ForAlerts(StrEnum):
    """What a status means for alerts to owners (`projects.watcher.notifications.troubles`)."""

    WELL = "well"
    """Ends any trouble once it has lasted for a while."""
    TROUBLE = "trouble"
    """Causes an alert once it has lasted for a while."""
    WORSE = "worse"
    """Causes no alert, because another event does. Reported trouble continues."""
    OVER = "over"
    """The owner does not expect the agent to run, so any known trouble is forgotten."""
    PASSING = "passing"
    """Neither begins nor ends trouble."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """A row of the table. No field has a default, so that mypy names each field that a new status lacks.

    - `in_flight`: the operation during which a project has this status.
    - `is_settled`: the status will not change by itself within the next moments.
    - `buttons`: the actions to offer while no operation is in flight.
    - `reason_level`: the CSS class of the message with the reason.
    - `meaning`: shown if there is no reason to show.

    `docs/api.md` repeats `meaning` and `next_step`. The command line has its own colours and list of settled statuses.
    Tests compare both with this table.
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
