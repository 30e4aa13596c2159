"""The indexes of a project's row.

Every command and every observation writes to each of them, which is most of what the database does then. Foreign keys
to text have theirs here, because Django would give them two each. That of the owner keeps its own, although the
first one below begins with it: where few owners have many rows, PostgreSQL would rather read the whole table than that.
"""

from django.db.models import Index, Q

from projects.models.columns import at_rest
from projects.models.columns.reserved_memory import HOLDS_MEMORY

INDEXES = (
    Index(fields=["owner", "-created_at", "-id"], name="project_by_owner"),
    Index(fields=["agent_type"], name="project_by_type"),
    Index(fields=["plan"], name="project_by_plan"),
    Index(fields=["operation_deadline"], condition=Q(operation_deadline__isnull=False), name="project_in_operation"),
    *at_rest.INDEXES,
    Index(fields=["instance", "updated_at"], name="project_by_change"),
    Index(fields=["instance"], condition=HOLDS_MEMORY, name="project_holds_memory"),
    Index(fields=["bot_id"], name="project_by_bot"),
    Index(fields=["budget_until"], condition=Q(budget_until__isnull=False), name="project_over_budget"),
)
