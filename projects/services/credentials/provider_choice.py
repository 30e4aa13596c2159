"""Which provider a project has after a change, and what it is asked about the key."""

from django.views.decorators.debug import sensitive_variables

from projects.credentials.verification import CredentialCheck, verify_credentials
from projects.models import Project
from projects.models.columns.credentials import API_KEY
from projects.models.provider import read_named_for
from projects.rules.named_providers import recognise_provider


def keeps_provider(project: Project, *, api_key: str | None, chosen: str) -> bool:
    """Any other change keeps it, however its keys are said to begin by now: the stored one is sent to nobody else."""
    return api_key is None and chosen == str(project.settings.get("provider", ""))


@sensitive_variables()
def verify_change(project: Project, *, telegram_token: str, api_key: str | None, chosen: str) -> CredentialCheck | None:
    """Asks Telegram and the provider about what is new; None where nothing is. `chosen` is the setting's new value.

    Raises `InvalidFieldError` and `SecretUnreadableError`.
    """
    if keeps_provider(project, api_key=api_key, chosen=chosen):
        return verify_credentials(telegram_token=telegram_token, api_key="") if telegram_token else None
    used = api_key or project.decrypt_credential(API_KEY)
    named = read_named_for(api_key=used, chosen=chosen)
    provider = chosen or (recognise_provider(used, named) if used else "")
    return verify_credentials(
        telegram_token=telegram_token,
        api_key=used,
        provider=provider,
        # The stored key is asked about again only for another provider, which may not know it.
        ask_provider=api_key is not None or provider != project.provider,
        named=named,
    )
