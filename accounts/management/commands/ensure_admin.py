"""Creates a superuser if none is active."""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts.emails import clean_email
from accounts.models import User

DEFAULT_EMAIL = "admin@berth.localhost"


class NoAdminError(CommandError):
    """There is no admin, and the address for a new one belongs to a user. The service can start without one."""


class Command(BaseCommand):
    help = "Create the first superuser from BERTH_ADMIN_EMAIL and BERTH_ADMIN_PASSWORD, unless one is active."
    requires_current_database = True

    def handle(self, *args: Any, **options: Any) -> None:
        admin = User.objects.filter(is_superuser=True, is_active=True).order_by("date_joined").first()
        if admin is None:
            self._make(settings.BERTH_ADMIN_EMAIL or DEFAULT_EMAIL)
        else:
            self.stdout.write(f"Admin: {admin.email}")

    @sensitive_variables("password")
    def _make(self, email: str) -> None:
        password = settings.BERTH_ADMIN_PASSWORD or secrets.token_urlsafe(15)
        candidate = User(email=User.objects.normalize_email(email))
        try:
            candidate.email = clean_email(email)
            validate_password(password, candidate)
        except ValidationError as error:
            message = f"BERTH_ADMIN_EMAIL or BERTH_ADMIN_PASSWORD cannot be used: {' '.join(error.messages)}"
            raise CommandError(message) from None
        if User.objects.filter(email=candidate.email).exists():
            raise NoAdminError(
                f"Nobody is an admin, and {email} is a user but not an active admin. Set BERTH_ADMIN_EMAIL to another "
                "address and run `manage.py ensure_admin`: this admin can then make others admins again."
            )
        with transaction.atomic():  # there is never an admin whose password nobody has seen
            User.objects.create_superuser(email, password)
            self.stdout.write(f"Admin: {candidate.email}")
            if not settings.BERTH_ADMIN_PASSWORD:
                self.stdout.write(f"Password: {password} (shown this once; change it after you have signed in)")
            self.stdout.flush()
