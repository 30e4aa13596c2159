"""Looks at credentials while a user fills in the form. Creates and stores nothing."""

from typing import NamedTuple
from uuid import uuid4

from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from projects.credentials.bot_picture import read_bot_picture
from projects.credentials.verification import (
    CredentialCheck,
    looks_whole,
    parse_bot_id,
    verify_credentials,
)
from projects.models import AgentType, Plan
from projects.models.provider import read_named
from projects.rules.named_providers import recognise_provider
from projects.rules.permissions import models_in_force
from projects.rules.settings.berth_settings import PROVIDERS
from projects.rules.settings.schema import defaults_of
from projects.services.bulkheads import COMMANDS
from projects.services.commands.admission import check_bot, check_own_bots


class CredentialPreview(NamedTuple):
    """`picture` is the bot's picture as a `data:` address, or empty if there is none."""

    check: CredentialCheck
    picture: str


@sensitive_variables("telegram_token")
def look_at_token(*, owner: User, telegram_token: str) -> CredentialPreview | None:
    """Asks Telegram which bot has the token. Returns None if only a part of the token is typed.

    Raises `InvalidFieldError`, `BotInUseError` and `NoPlaceError`.
    """
    new = uuid4()
    check_own_bots(owner=owner, bot_id=parse_bot_id(telegram_token), project_id=new)
    if not looks_whole(telegram_token):
        return None
    with COMMANDS.take(owner.email):
        check = verify_credentials(telegram_token=telegram_token, api_key="")
        check_bot(owner=owner, check=check, project_id=new)
        picture = ""
        if check.bot_known and check.bot_id is not None:
            picture = read_bot_picture(telegram_token=telegram_token, bot_id=check.bot_id)
    return CredentialPreview(check, picture)


@sensitive_variables("api_key")
def find_provider(*, api_key: str, chosen: str) -> str:
    """Returns the provider that the settings name, else the one recognised by the key; empty without a key."""
    named = read_named()
    if chosen in PROVIDERS or chosen in named:
        return chosen
    return recognise_provider(api_key, named) if api_key else ""


def offer_models(*, agent_type: AgentType, plan: Plan | None, provider: str) -> tuple[str, list[str]]:
    """Returns the model of an agent whose settings name none, and the models to choose from.

    The model is empty if the image chooses.
    """
    allowed = models_in_force((agent_type.allowed_models, plan.allowed_models if plan else ""))
    named = defaults_of(agent_type.settings_schema).get("model")
    default = named if isinstance(named, str) else agent_type.default_model_of(provider)
    if allowed is None:
        return default, [default] if default else []
    return default if default in allowed else "", sorted(allowed)
