"""Asks Telegram and the provider whether the credentials work, before anything is deployed.

Only a definite no is an error. Where the other side is silent or out of order the deploy goes on, with a warning.
No exception leaves this module with a URL in it: Telegram's carry the token.
"""

import logging
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from projects.errors import InvalidFieldError
from projects.rules.bot import Bot, describe_bot

TIMEOUT = (3.05, 5)
"""Seconds to connect, and to wait for each part of the answer."""

TOKEN_FORMAT = re.compile(r"([0-9]{1,18}):\S+")
USERNAME_FORMAT = re.compile(r"[A-Za-z0-9_]{1,64}")
ANTHROPIC, OPENROUTER, OPENAI = "anthropic", "openrouter", "openai"
PROVIDERS = (ANTHROPIC, OPENROUTER, OPENAI)
PROBES = {
    ANTHROPIC: "https://api.anthropic.com/v1/models",
    OPENROUTER: "https://openrouter.ai/api/v1/key",
    OPENAI: "https://api.openai.com/v1/models",
}

# requests' own log lines carry URLs, and Telegram's carry the token.
logging.getLogger("urllib3").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialCheck:
    """What the look outside found. `warnings` are sentences for the owner."""

    bot_id: int | None = None
    bot_username: str = ""
    provider: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def bot(self) -> Bot | None:
        return describe_bot(self.bot_id, self.bot_username)


@sensitive_variables("telegram_token", "api_key")
def verify_credentials(
    *, telegram_token: str, api_key: str, provider: str = "", ask_provider: bool = True
) -> CredentialCheck:
    """Empty credentials are not looked at. Raises `InvalidFieldError` for one that is certainly not valid."""
    bot_id, username = None, ""
    warnings: list[str] = []
    if telegram_token:
        bot_id = parse_bot_id(telegram_token)
        if settings.BERTH_VERIFY_CREDENTIALS:
            username, warnings = _ask_telegram(telegram_token)
    if api_key:
        provider = provider or recognise_provider(api_key)
        if ask_provider and settings.BERTH_VERIFY_CREDENTIALS:
            warnings += _ask_provider(api_key, provider)
    return CredentialCheck(bot_id=bot_id, bot_username=username, provider=provider, warnings=tuple(warnings))


@sensitive_variables("telegram_token")
def parse_bot_id(telegram_token: str) -> int:
    """The number before the colon. No more is asked of the format: Telegram decides what is a valid token."""
    found = TOKEN_FORMAT.fullmatch(telegram_token)
    if found is None:
        raise InvalidFieldError(
            "This is not a bot token. Paste it as @BotFather shows it: digits, a colon, letters and digits.",
            field="telegramToken",
            code="malformed",
        )
    return int(found[1])


@sensitive_variables("api_key")
def recognise_provider(api_key: str) -> str:
    if api_key.startswith("sk-ant-"):
        return ANTHROPIC
    return OPENROUTER if api_key.startswith("sk-or-") else OPENAI


@sensitive_variables("telegram_token", "base")
def _ask_telegram(telegram_token: str) -> tuple[str, list[str]]:
    """The bot's username and warnings."""
    base = f"{settings.BERTH_TELEGRAM_API}/bot{quote(telegram_token, safe=':')}"
    status, body = _get(f"{base}/getMe")
    if status in {401, 404}:
        raise InvalidFieldError(
            "Telegram refused the bot token. Paste a new one from @BotFather.", field="telegramToken", code="rejected"
        )
    result = body.get("result")
    if status != 200 or not isinstance(result, dict):
        return "", ["telegram_unverified: Telegram did not answer, so the bot token could not be checked."]
    username = str(result.get("username", ""))
    if not USERNAME_FORMAT.fullmatch(username):
        username = ""
    _, body = _get(f"{base}/getWebhookInfo")
    webhook = body.get("result")
    if isinstance(webhook, dict) and webhook.get("url"):
        return username, ["telegram_webhook: The bot has a webhook, which keeps the agent from polling. Delete it."]
    return username, []


@sensitive_variables("api_key", "headers")
def _ask_provider(api_key: str, provider: str) -> list[str]:
    url = PROBES[provider]
    if settings.BERTH_PROVIDER_API:
        url = settings.BERTH_PROVIDER_API + "/" + url.rsplit("/", 1)[1]
    headers = {"Authorization": f"Bearer {api_key}"}
    if provider == ANTHROPIC:
        headers = {"x-api-key": api_key, "anthropic-version": "2023-06-01"}
    status, _ = _get(url, headers)
    if status == 401:
        raise InvalidFieldError("The provider refused the API key. Paste a valid one.", field="apiKey", code="rejected")
    if status is None or status >= 500 or status == 429:
        return ["provider_unverified: The provider did not answer, so the API key could not be checked."]
    return []


@sensitive_variables()
def _get(url: str, headers: dict[str, str] | None = None) -> tuple[int | None, dict[str, Any]]:
    """Status and JSON object; None and nothing where there was no usable answer."""
    try:
        answer = requests.get(url, headers=headers, timeout=TIMEOUT, allow_redirects=False)
    except (requests.RequestException, UnicodeError, ValueError):
        return None, {}
    try:
        body = answer.json()
    except ValueError:
        body = None
    return answer.status_code, body if isinstance(body, dict) else {}
