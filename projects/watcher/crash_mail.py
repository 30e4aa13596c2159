"""Tells an owner by email that an agent needs them: it crashed for good, or could not be made again."""

import logging
from datetime import timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from projects.models import Project

log = logging.getLogger(__name__)

AT_MOST_EVERY = timedelta(hours=1)


def notify_owner(project: Project) -> bool:
    """Send the reason and a link; at most one mail for each project and hour. Whether one was sent."""
    reason = project.reason
    if reason is None or not settings.BERTH_SENDS_MAIL:
        return False
    now = timezone.now()
    due = Project.objects.filter(Q(noticed_at=None) | Q(noticed_at__lte=now - AT_MOST_EVERY), pk=project.pk)
    if not due.update(noticed_at=now):
        return False
    link = f"{settings.BERTH_PUBLIC_URL}/projects/{project.pk}"
    text = render_to_string("projects/crash_mail.txt", {"project": project, "reason": reason, "link": link})
    try:
        send_mail(f"{project.name} needs you", text, None, [project.owner.email])
    except (SMTPException, OSError) as error:
        # The status tells it all the same, and the next hour tries again.
        log.warning("The crash notice for project %s could not be sent: %s", project.pk, type(error).__name__)
        return False
    return True
