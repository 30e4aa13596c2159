"""Code that creates the projects for the table, run by `manage.py shell`."""

ROWS = """
from django.conf import settings
from django.db import connection
from accounts.models import Scope, User
from accounts.services.api_keys import issue_api_key
from projects.models import AgentType, Plan, Project
type_, plan = AgentType.objects.get(slug="stub"), Plan.objects.get(slug="bench")
for owned in {counts}:
    owner = User.objects.create_user(f"owner-of-{{owned}}@example.org")
    Project.objects.bulk_create(
        Project(
            owner=owner, instance=settings.BERTH_INSTANCE, name=f"bench {{number}}", agent_type=type_, plan=plan,
            desired="stopped", container_state="", uid=800000 + 10000 * owned + number,
            generation=2,  # of a first deploy its page shows the steps
        )
        for number in range(owned)
    )
    _, key = issue_api_key(user=owner, session=None, name="bench", scope=Scope.WRITE, lifetime_days=None)
    (settings.BERTH_DATA_DIR / f"bench-key-{{owned}}").write_text(key)
connection.cursor().execute("ANALYZE")  # now, and not by the database itself while it is measured
"""

GROWN = """
from django.db import connection
from projects.models import Project
from tests.many_rows import multiply
template = Project.objects.get(owner__email="owner-of-1@example.org", name="bench 0")
multiply(template, max(0, {count} - Project.objects.count()))
connection.cursor().execute("VACUUM")  # now, and not by the database itself while it is measured
"""
"""Those of another owner, at rest."""
