"""The mail that an agent's memory is nearly full, before the agent is stopped because of it."""

from uuid import UUID

from django.conf import settings
from django.template.loader import render_to_string

from accounts.models import OutgoingMail, User
from accounts.services.outbox import Letter
from projects.models import Project


def render_disk_mail(mail: OutgoingMail, _user: User) -> Letter | None:
    """Renders the mail. Returns None if the project is gone, has room again, or is already full."""
    rows = Project.objects.filter(pk=UUID(mail.facts["project"]), owner_id=mail.user_id)
    project = rows.select_related("plan").first()
    if project is None or project.disk_share.warning is None:
        return None
    facts = {
        "project": project,
        "warning": project.disk_share.warning,
        "link": f"{settings.BERTH_PUBLIC_URL}/projects/{project.pk}",
    }
    return Letter(subject=f"{project.name} is nearly full", text=render_to_string("projects/disk_mail.txt", facts))
