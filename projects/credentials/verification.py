"""Asks Telegram and the provider whether the credentials work, before anything is deployed.

Only a definite refusal is an error. If the other side does not answer or fails, the deploy continues with a warning.
No exception from this module contains a URL, because Telegram's URLs contain the token.
"""

import logging
import re
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.text import join_first
from containers.gateway.entries import API_KEY, BOT_TOKEN
from containers.outbound.call_limits import time_limit
from projects.credentials.http_client import ask
from projects.errors import InvalidFieldError
from projects.rules.bot import Bot, describe_bot
from projects.rules.named_providers import ANTHROPIC, OPENAI, OPENROUTER, Named, recognise_provider

TELEGRAM_LIMIT = settings.BERTH_OUTSIDE_LIMIT
"""Seconds for all requests to Telegram together, from the name look-up to the last byte."""

PROVIDER_LIMIT = settings.BERTH_OUTSIDE_LIMIT
"""The same for the provider."""

WHOLE_TOKEN = re.compile(r"[0-9]{1,18}:[A-Za-z0-9_-]{30,}")
"""Telegram's tokens have 35 characters after the colon."""

USERNAME_FORMAT = re.compile(r"[A-Za-z0-9_]{1,64}")
NOBODY: Named = {}
PROBES = {
    ANTHROPIC: "https://api.anthropic.com/v1/models",
    OPENROUTER: "https://openrouter.ai/api/v1/key",
    OPENAI: "https://api.openai.com/v1/models",
}

# urllib3 logs URLs, even if it cannot parse a response head, and Telegram's URLs contain the token.
logging.getLogger("urllib3").setLevel(logging.ERROR)


def sentence_of(warning: str) -> str:
    """Returns a warning without its code, which is for programs."""
    return warning.partition(": ")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialCheck:
    """The answers of Telegram and the provider. Each of the `warnings` is a code and a sentence for the owner.

    `token_confirmed` is False if Telegram was asked about the token and gave no usable answer. `bot_known` is True if
    it was asked and named the bot.
    """

    token_confirmed: bool = True
    bot_known: bool = False
    bot_id: int | None = None
    bot_username: str = ""
    provider: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def unconfirmed_at(self) -> datetime | None:
        """When Telegram was asked and did not answer; None if it did or was not asked."""
        return None if self.token_confirmed else clock.now()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The warnings for people, without their codes."""
        return tuple(map(sentence_of, self.warnings))

    @property
    def bot(self) -> Bot | None:
        return describe_bot(self.bot_id, self.bot_username)


@sensitive_variables("telegram_token", "api_key")
def verify_credentials(
    *, telegram_token: str, api_key: str, provider: str = "", ask_provider: bool = True, named: Named = NOBODY
) -> CredentialCheck:
    """Checks the credentials that are not empty. Raises `InvalidFieldError` for one that is certainly invalid.

    `named` are the providers that staff added.
    """
    if provider and provider not in PROBES and provider not in named:
        known = join_first([*PROBES, *named])
        raise InvalidFieldError(f"Must be one of: {known}.", field="settings.provider", code="enum")
    bot_id: int | None = None
    username: str | None = ""
    warnings: list[str] = []
    if telegram_token:
        bot_id = parse_bot_id(telegram_token)
        if settings.BERTH_VERIFY_CREDENTIALS:
            with time_limit(TELEGRAM_LIMIT):
                username, warnings = _ask_telegram(telegram_token)
    if api_key:
        check_api_key(api_key)
        provider = provider or recognise_provider(api_key, named)
        if ask_provider and settings.BERTH_VERIFY_CREDENTIALS:
            with time_limit(PROVIDER_LIMIT):
                warnings += _ask_provider(api_key, provider, named)
    return CredentialCheck(
        token_confirmed=username is not None,
        bot_known=bool(telegram_token) and settings.BERTH_VERIFY_CREDENTIALS and username is not None,
        bot_id=bot_id,
        bot_username=username or "",
        provider=provider,
        warnings=tuple(warnings),
    )


@sensitive_variables("telegram_token")
def parse_bot_id(telegram_token: str) -> int:
    """Returns the number before the colon. Raises `InvalidFieldError` for a token that the gateway would not take."""
    found = BOT_TOKEN.fullmatch(telegram_token)
    if found is None:
        raise InvalidFieldError(
            "This is not a bot token. Paste it as @BotFather shows it: digits, a colon, letters and digits.",
            field="telegramToken",
            code="malformed",
        )
    return int(found[1])


@sensitive_variables("api_key")
def check_api_key(api_key: str) -> None:
    """Raises `InvalidFieldError` for a key that the gateway would not take. Only the provider knows which are valid."""
    if not API_KEY.fullmatch(api_key):
        raise InvalidFieldError(
            "This is not an API key: it has a blank, an invisible character, or one that no key has. Copy it again "
            "from the provider's page, or type it.",
            field="apiKey",
            code="malformed",
        )


@sensitive_variables("telegram_token")
def looks_whole(telegram_token: str) -> bool:
    """Returns whether this is as long as a bot token. If not, the user is still typing, and Telegram is not asked."""
    return WHOLE_TOKEN.fullmatch(telegram_token) is not None


@sensitive_variables("telegram_token", "base")
def _ask_telegram(telegram_token: str) -> tuple[str | None, list[str]]:
    """Returns the bot's username, or None if Telegram gave no usable answer, and warnings."""
    base = f"{settings.BERTH_TELEGRAM_API}/bot{quote(telegram_token, safe=':')}"
    answer = ask(f"{base}/getMe")
    if answer.status in {401, 404}:
        raise InvalidFieldError(
            "Telegram refused the bot token. Paste a new one from @BotFather.", field="telegramToken", code="rejected"
        )
    result = answer.body.get("result")
    if answer.status != 200 or not isinstance(result, dict):
        return None, ["telegram_unverified: Telegram did not answer, so the bot token could not be checked."]
    username = result.get("username")
    if not isinstance(username, str) or not USERNAME_FORMAT.fullmatch(username):
        username = ""
    webhook = ask(f"{base}/getWebhookInfo").body.get("result")
    if isinstance(webhook, dict) and webhook.get("url"):
        return username, ["telegram_webhook: The bot has a webhook, which keeps the agent from polling. Delete it."]
    return username, []


@sensitive_variables("api_key", "headers")
def _ask_provider(api_key: str, provider: str, named: Named) -> list[str]:
    url = PROBES[provider] if provider in PROBES else f"{named[provider].base_url}/models"
    if settings.BERTH_PROVIDER_API:
        url = settings.BERTH_PROVIDER_API + "/" + url.rsplit("/", 1)[1]
    headers = {"Authorization": f"Bearer {api_key}"}
    if provider == ANTHROPIC:
        headers = {"x-api-key": api_key, "anthropic-version": "2023-06-01"}
    answer = ask(url, headers, reads_body=False)
    if answer.status == 401:
        raise InvalidFieldError("The provider refused the API key. Paste a valid one.", field="apiKey", code="rejected")
    if answer.is_success or answer.status in {400, 402, 403, 404}:
        return []  # the key may be valid, but without permission or credit for this request
    return ["provider_unverified: The provider did not answer, so the API key could not be checked."]
