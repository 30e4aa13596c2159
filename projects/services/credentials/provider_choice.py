"""Decides which provider a project has after a change, and whether to ask it about the key."""

from django.views.decorators.debug import sensitive_variables

from projects.credentials.verification import CredentialCheck, verify_credentials
from projects.models import Project
from projects.models.columns.credentials import API_KEY
from projects.models.provider import read_named_for
from projects.rules.named_providers import recognise_provider


def keeps_provider(project: Project, *, api_key: str | None, chosen: str) -> bool:
    """Returns whether the change keeps the provider: it has neither a new key nor another provider setting.

    Staff may have changed the key prefixes meanwhile, but the stored key must not be sent to another provider.
    """
    return api_key is None and chosen == str(project.settings.get("provider", ""))


@sensitive_variables()
def verify_change(project: Project, *, telegram_token: str, api_key: str | None, chosen: str) -> CredentialCheck | None:
    """Asks Telegram and the provider about new credentials. Returns None if there are none.

    `chosen` is the new value of the provider setting. Raises `InvalidFieldError` and `SecretUnreadableError`.
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
        # Check the stored key again only with another provider, which may not know it.
        ask_provider=api_key is not None or provider != project.provider,
        named=named,
    )
