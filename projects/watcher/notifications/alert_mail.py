"""The mail that an agent reports trouble or is well again."""

from django.conf import settings

from accounts.models import OutgoingMail, User
from accounts.services.outbox import Letter


def render_alert_mail(mail: OutgoingMail, user: User) -> Letter | None:
    """Renders the mail. Returns None for an alert about the service if the user is no longer staff."""
    facts = mail.facts
    if "moment" in facts and not user.is_staff:
        return None
    subject = f"{facts['project']}: {facts['sentence']}"
    foot = f"You chose to be told of this on {settings.BERTH_PUBLIC_URL}/settings/alerts"
    return Letter(subject=subject[:200], text=f"{facts['text']}\n\n{foot}\n")
