from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.errors import SecondFactorUnreadableError
from accounts.services.second_factor import rotate_second_factors
from projects.credentials.encryption import SecretUnreadableError
from projects.services.alerts.channels import rotate_alert_secrets
from projects.services.credentials.key_rotation import rotate_secrets


class Command(BaseCommand):
    help = (
        "Encrypt every stored credential again with the first of BERTH_ENCRYPTION_KEYS. "
        "Put the new key first, restart, run this, then remove the old key."
    )
    requires_current_database = True

    def handle(self, *args: Any, **options: Any) -> None:
        done = 0
        try:
            for done, total in rotate_secrets():
                if done % 100 == 0 or done == total:
                    self.stdout.write(f"{done} of {total} projects")
            ways = rotate_alert_secrets()
        except SecretUnreadableError as error:
            raise CommandError(f"{error} {done} projects are done. Then run this again.") from None
        self.stdout.write(f"{ways} alert destinations")
        try:
            rotated = sum(1 for _ in rotate_second_factors())
        except SecondFactorUnreadableError as error:
            raise CommandError(error.operator_detail) from None
        self.stdout.write(f"{rotated} second factors")
        self.stdout.write(self.style.SUCCESS("Every credential is encrypted with the first key."))
