"""The mail that most of a budget, or all of it, is spent."""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.template.loader import render_to_string

from accounts import clock
from accounts.models import OutgoingMail, User
from accounts.services.outbox import Letter
from projects.models import Project
from projects.rules.budget import REACHED
from projects.rules.periods import name_day


def render_budget_mail(mail: OutgoingMail, _user: User) -> Letter | None:
    """Renders the mail. Returns None if the project is gone, or the budget was reset before the mail could be sent."""
    project = Project.objects.filter(pk=UUID(mail.facts["project"]), owner_id=mail.user_id).first()
    until, mark = datetime.fromisoformat(mail.facts["until"]), int(mail.facts["mark"])
    if project is None or until <= clock.now():
        return None
    facts = {
        "project": project,
        "period": mail.facts["period"],
        "mark": mark,
        "is_reached": mark >= REACHED,
        "resets": name_day(until),
        "link": f"{settings.BERTH_PUBLIC_URL}/projects/{project.pk}",
    }
    subject = f"{project.name} has reached its budget" if mark >= REACHED else f"{project.name} has used {mark} %"
    text = render_to_string("projects/budget_mail.txt", facts)
    return Letter(subject=subject if mark >= REACHED else f"{subject} of its budget", text=text)
