"""Which rows the watcher has nothing to do with: nothing runs, nothing is wanted, and nothing is under way.

There may be any number of them. The others are few, and an index knows them.
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
"""The row says that the engine has nothing of the project, and that it is to stay so."""

_COUNTED = (
    *("agent_type", "instance", "desired", "failure_code"),
    *("updated_at", "observed_at", "suspended_at", "gave_up_at", "owner"),
    *("operation", "reconcile_failures", "container_id", "container_state", "health"),
)
"""What the status of such a row follows from, and what makes it one, which SQLite asks for once more. An index has all
of it, so that no row is read to count them.
"""

INDEXES = (
    Index(fields=["instance"], condition=~AT_REST, name="project_not_at_rest"),
    Index(fields=_COUNTED, condition=AT_REST, name="project_at_rest"),
    Index(fields=["instance"], condition=~Q(gateway_node=""), name="project_on_node"),  # at rest or not
)
