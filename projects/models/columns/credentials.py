"""The credentials of an agent, encrypted and bound to their row."""

from django.db import models
from django.views.decorators.debug import sensitive_variables

from projects.credentials.encryption import decrypt_secret, encrypt_secret, hint_of

TELEGRAM_TOKEN = "telegram_token"  # noqa: S105 - the name of a field
API_KEY = "api_key"


class Credentialed(models.Model):
    """A row with a bot token and a provider's API key. A hint is their last characters, for the owner."""

    telegram_token_ciphertext = models.TextField(blank=True, editable=False)
    telegram_token_hint = models.CharField(max_length=4, blank=True, editable=False)
    api_key_ciphertext = models.TextField(blank=True, editable=False)
    api_key_hint = models.CharField(max_length=4, blank=True, editable=False)

    class Meta:
        abstract = True

    @sensitive_variables("telegram_token", "api_key")
    def encrypt_credentials(self, *, telegram_token: str | None = None, api_key: str | None = None) -> list[str]:
        """Encrypts the given credentials. Returns the names of the fields to save."""
        changed = []
        for field, value in ((TELEGRAM_TOKEN, telegram_token), (API_KEY, api_key)):
            if value is not None:
                ciphertext = encrypt_secret(project_id=self.pk, field=field, value=value) if value else ""
                setattr(self, f"{field}_ciphertext", ciphertext)
                setattr(self, f"{field}_hint", hint_of(value))
                changed += [f"{field}_ciphertext", f"{field}_hint"]
        return changed

    def decrypt_credential(self, field: str) -> str:
        """Returns the plaintext of `TELEGRAM_TOKEN` or `API_KEY`; empty if none is stored."""
        ciphertext = getattr(self, f"{field}_ciphertext")
        return decrypt_secret(project_id=self.pk, field=field, ciphertext=ciphertext) if ciphertext else ""
