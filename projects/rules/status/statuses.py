"""The statuses of a project, and one table of everything that depends on the status.

To add a status, add a member to `Status` and a row to `TRAITS`, and say in `projects.rules.status.derivation` when it
applies. It needs a new rule in berth.css only if none of the looks fits.
"""

from django.db.models import TextChoices

from projects.rules.status.lifecycle import Action, Operation
from projects.rules.status.traits import Condition, ForAlerts, Look, Traits


class Status(TextChoices):
    DEPLOYING = "deploying"
    STARTING = "starting"
    RUNNING = "running"
    DEGRADED = "degraded"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    CRASHED = "crashed"
    FAILED = "failed"
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"
    DELETING = "deleting"

    @property
    def traits(self) -> Traits:
        return TRAITS[self]


TRAITS = {
    Status.DEPLOYING: Traits(
        in_flight=Operation.DEPLOY,
        condition=Condition.CHANGING,
        is_settled=False,
        buttons=frozenset({Action.STOP}),
        look=Look.MOVING,
        for_alerts=ForAlerts.PASSING,
        reason_level="info",
        meaning="The container is being created.",
        next_step="Wait.",
    ),
    Status.STARTING: Traits(
        in_flight=Operation.START,
        condition=Condition.UP,
        is_settled=False,
        buttons=frozenset({Action.STOP, Action.RESTART}),
        look=Look.MOVING,
        for_alerts=ForAlerts.PASSING,
        reason_level="info",
        meaning="The container runs, and the agent is getting ready.",
        next_step="Wait.",
    ),
    Status.RUNNING: Traits(
        in_flight=Operation.NONE,
        condition=Condition.UP,
        is_settled=True,
        buttons=frozenset({Action.STOP, Action.RESTART}),
        look=Look.WELL,
        for_alerts=ForAlerts.WELL,
        reason_level="info",
        meaning="The agent is ready.",
        next_step="Write to its bot.",
    ),
    Status.DEGRADED: Traits(
        in_flight=Operation.NONE,
        condition=Condition.UP,
        is_settled=True,
        buttons=frozenset({Action.STOP, Action.RESTART}),
        look=Look.TROUBLE,
        for_alerts=ForAlerts.TROUBLE,
        reason_level="warning",
        meaning="The agent runs, but its provider or Telegram gives it trouble, or its health check fails.",
        next_step="Read `status_reason`.",
    ),
    Status.RESTARTING: Traits(
        in_flight=Operation.RESTART,
        condition=Condition.CHANGING,
        is_settled=False,
        buttons=frozenset(Action),
        look=Look.MOVING,
        for_alerts=ForAlerts.WORSE,
        reason_level="warning",
        meaning="The container is being replaced by a new one.",
        next_step="Wait. If the agent crashed and is tried again, `status_reason` says why.",
    ),
    Status.STOPPING: Traits(
        in_flight=Operation.STOP,
        condition=Condition.CHANGING,
        is_settled=False,
        buttons=frozenset({Action.START, Action.STOP}),
        look=Look.MOVING,
        for_alerts=ForAlerts.PASSING,
        reason_level="info",
        meaning="The agent is being stopped. It gets a few seconds to finish.",
        next_step="Wait.",
    ),
    Status.STOPPED: Traits(
        in_flight=Operation.NONE,
        condition=Condition.DOWN,
        is_settled=True,
        buttons=frozenset({Action.START}),
        look=Look.STILL,
        for_alerts=ForAlerts.OVER,
        reason_level="info",
        meaning="The agent does not run. Its memory and its settings are kept.",
        next_step="Start it.",
    ),
    Status.CRASHED: Traits(
        in_flight=Operation.NONE,
        condition=Condition.ENDED,
        is_settled=True,
        buttons=frozenset({Action.START, Action.STOP}),
        look=Look.ENDED,
        for_alerts=ForAlerts.WORSE,
        reason_level="error",
        meaning="The agent ended with an error that no restart can fix, or five times in ten minutes.",
        next_step=(
            "Read `status_reason`, remove the cause, start; "
            "a new token or key starts what ended because of the old one."
        ),
    ),
    Status.FAILED: Traits(
        in_flight=Operation.NONE,
        condition=Condition.ENDED,
        is_settled=True,
        buttons=frozenset({Action.START, Action.STOP}),
        look=Look.ENDED,
        for_alerts=ForAlerts.WORSE,
        reason_level="error",
        meaning="The container could not be created, or may not run.",
        next_step="Read `status_reason`, start.",
    ),
    Status.SUSPENDED: Traits(
        in_flight=Operation.NONE,
        condition=Condition.DOWN,
        is_settled=True,
        buttons=frozenset(),
        look=Look.HELD,
        for_alerts=ForAlerts.OVER,
        reason_level="warning",
        meaning="The staff stopped the project. It can be neither started nor changed nor deleted.",
        next_step="Ask them.",
    ),
    Status.UNKNOWN: Traits(
        in_flight=Operation.NONE,
        condition=Condition.UNKNOWN,
        is_settled=True,
        buttons=frozenset(Action),
        look=Look.UNKNOWN,
        for_alerts=ForAlerts.PASSING,
        reason_level="warning",
        meaning="The engine does not answer.",
        next_step="Wait. `last_known_status` is the status before that.",
    ),
    Status.DELETING: Traits(
        in_flight=Operation.DELETE,
        condition=Condition.CHANGING,
        is_settled=False,
        buttons=frozenset(),
        look=Look.MOVING,
        for_alerts=ForAlerts.OVER,
        reason_level="info",
        meaning="The container, its state and its credentials are being removed. The project is gone as soon as the "
        "engine confirms that they are.",
        next_step="",
    ),
}
