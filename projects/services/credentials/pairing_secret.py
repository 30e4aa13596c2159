"""The secret of pairing codes, seen to at each start."""

from django.views.decorators.debug import sensitive_variables

from projects.credentials.encryption import SecretUnreadableError
from projects.models import Project
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN


@sensitive_variables()
def ensure_pairing_secret(project: Project) -> None:
    """Makes a new one in the place of one whose key is lost. Whom the agent has paired stays paired.

    Raises `SecretUnreadableError` where the credentials cannot be read either: then the keys may be the wrong ones.
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
