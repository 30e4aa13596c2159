"""Ensures at each start that the secret of pairing codes is readable."""

from django.views.decorators.debug import sensitive_variables

from projects.credentials.encryption import SecretUnreadableError
from projects.models import Project
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN


@sensitive_variables()
def ensure_pairing_secret(project: Project) -> None:
    """Replaces a secret whose encryption key is lost. People who are paired stay paired.

    Raises `SecretUnreadableError` if the credentials cannot be read either, because then the keys may be wrong.
    """
    try:
        project.decrypt_pairing_secret()
    except SecretUnreadableError:
        for field in (TELEGRAM_TOKEN, API_KEY):
            project.decrypt_credential(field)
        lost = Project.objects.filter(pk=project.pk, pairing_secret_ciphertext=project.pairing_secret_ciphertext)
        new = project.encrypt_pairing_secret(in_force_from=project.generation)
        lost.update(**new)
        project.refresh_from_db(fields=list(new))
