"""Which rows are at rest: nothing runs, nothing should run, and no operation is in flight.

The watcher has nothing to do for them. There may be any number of them; the other rows are few, and have an index.
"""

from django.db.models import Index, Q

from containers.vocabulary import Health
from projects.rules.status.lifecycle import UNPROTECTED, Desired, Operation

_HELD = (
    Q(suspended_at__isnull=False) | Q(gave_up_at__isnull=False) | (~Q(failure_code="") & ~Q(failure_code=UNPROTECTED))
)
_WITHOUT_WORK = Q(operation=str(Operation.NONE), reconcile_failures=0)
_WITHOUT_CONTAINER = Q(container_state="", container_id="", health=str(Health.NONE))

AT_REST = (
    _WITHOUT_WORK & _WITHOUT_CONTAINER & (Q(desired=str(Desired.STOPPED)) | (Q(desired=str(Desired.RUNNING)) & _HELD))
)
"""The row says that the engine has no container of the project and should have none."""

_COUNTED = (
    *("agent_type", "instance", "desired", "failure_code"),
    *("updated_at", "observed_at", "suspended_at", "gave_up_at", "owner"),
    *("operation", "reconcile_failures", "container_id", "container_state", "health"),
)
"""The columns that decide the status of a row at rest, and those of the condition itself, which SQLite reads again. The
index has them all, so that counting these rows reads no row.
"""

INDEXES = (
    Index(fields=["instance"], condition=~AT_REST, name="project_not_at_rest"),
    Index(fields=_COUNTED, condition=AT_REST, name="project_at_rest"),
    Index(fields=["instance"], condition=~Q(gateway_node=""), name="project_on_node"),  # at rest or not
)
