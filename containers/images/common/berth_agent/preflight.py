"""Checks at no cost whether Telegram and the provider accept the credentials, before the agent depends on them.

Uses only the standard library, in the caller's thread. Each check ends after `LONGEST_PROBE` seconds.
"""

import json
import logging
import time
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from agent_contract import ExitCode, ProblemCode
from berth_agent.outcome import FatalError, Problem
from berth_agent.providers import Provider, explain_refusal, is_header_safe, model_is_listed, problem

LONGEST_PROBE = 8.0  # seconds for all requests about one provider together; the start waits for them
LONGEST_ANSWER = 4 * 1024 * 1024  # bytes; OpenRouter's list of models has 700 KB

TOKEN_REJECTED = "Telegram rejects the bot token."  # noqa: S105 - a sentence
UNREACHABLE = "Telegram cannot be reached or answers with errors."

USER_AGENT = {"User-Agent": "berth-agent/1"}  # some providers refuse the standard library's

logger = logging.getLogger(__name__)


class Answer:
    """Status and text of an HTTP response, including errors."""

    def __init__(self, status: int, content: bytes) -> None:
        self.status = status
        self.text = content.decode("utf-8", "replace")

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def json(self) -> dict[str, Any]:
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class _SameHost(HTTPRedirectHandler):
    """Follows no redirect to another host, because the request contains a credential."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new[:2] != old[:2] and (new.scheme, new.hostname) != ("https", old.hostname):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def get(url: str, headers: dict[str, str], deadline: float) -> Answer:
    """Raises `OSError`, `HTTPException` or `ValueError` if no answer arrives before the deadline (`time.monotonic`)."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("not an http or https address")
    request = Request(url, headers=headers | USER_AGENT)  # noqa: S310 - its scheme is checked above
    try:
        with build_opener(_SameHost).open(request, timeout=_left(deadline)) as answer:
            return Answer(answer.status, _read(answer, deadline))
    except HTTPError as error:
        with error:
            return Answer(error.code, _read(error, deadline))


def _read(answer: Any, deadline: float) -> bytes:
    content = b""
    while len(content) < LONGEST_ANSWER and (part := answer.read1(64 * 1024)):
        content += part
        _left(deadline)
    return content


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def check_telegram(api_base: str, token: str) -> Problem | None:
    """Returns a problem with reaching Telegram, or None. Raises `FatalError` (exit 20) if it rejects the token."""
    if not is_header_safe(token):  # it cannot even be part of a URL
        raise FatalError(ExitCode.TELEGRAM_TOKEN, ProblemCode.TELEGRAM_TOKEN, TOKEN_REJECTED)
    try:
        answer = get(f"{api_base}/bot{token}/getMe", {}, time.monotonic() + LONGEST_PROBE)
    except (OSError, HTTPException, ValueError) as error:
        logger.warning("Telegram cannot be reached: %s", type(error).__name__)
        return Problem(ProblemCode.TELEGRAM_UNREACHABLE, UNREACHABLE)
    # A proxy's 401 or 404 says nothing about the token; only Telegram's own answer has `ok`.
    if answer.status in (401, 404) and answer.json.get("ok") is False:
        raise FatalError(ExitCode.TELEGRAM_TOKEN, ProblemCode.TELEGRAM_TOKEN, TOKEN_REJECTED)
    return None if answer.is_success else Problem(ProblemCode.TELEGRAM_UNREACHABLE, UNREACHABLE)


def check_provider(provider: Provider, api_base: str, key: str, model: str) -> Problem | None:
    """Returns the problem with the provider, or None if there is none or the provider offers no way to find out.

    Without a `model` only the key is checked.
    """
    if not is_header_safe(key):
        return problem(ProblemCode.PROVIDER_KEY)
    try:
        return _Questions(provider, api_base, key).ask(model)
    except (OSError, HTTPException, ValueError) as error:
        logger.warning("the provider cannot be reached: %s", type(error).__name__)
        return problem(ProblemCode.PROVIDER_DOWN)


class _Questions:
    def __init__(self, provider: Provider, api_base: str, key: str) -> None:
        self._provider = provider
        self._api_base = api_base
        self._deadline = time.monotonic() + LONGEST_PROBE
        is_anthropic = provider is Provider.ANTHROPIC
        bearer = {"Authorization": f"Bearer {key}"}
        self._headers = {"x-api-key": key, "anthropic-version": "2023-06-01"} if is_anthropic else bearer

    def _get(self, path: str) -> Answer:
        return get(self._api_base + path, self._headers, self._deadline)

    def ask(self, model: str) -> Problem | None:
        path = f"/models/{quote(model, safe='/')}" if model else "/models"
        if self._provider is Provider.OPENROUTER:
            found = self._ask_openrouter_key()
            if found is not None or not model:
                return found
            path = f"/models/{quote(model.partition(':')[0], safe='/')}/endpoints"
        answer = self._get(path)
        return self._ask_list(model) if model and answer.status == 404 else _meaning(answer)

    def _ask_openrouter_key(self) -> Problem | None:
        answer = self._get("/key")
        facts = answer.json.get("data")
        left = facts.get("limit_remaining") if isinstance(facts, dict) else None
        if answer.is_success and isinstance(left, int | float) and left <= 0:
            return problem(ProblemCode.PROVIDER_CREDIT)
        return _meaning(answer)

    def _ask_list(self, model: str) -> Problem | None:
        """Counts a 404 for a model only if the list of models lacks it too, because some gateways lack the path."""
        answer = self._get("/models?limit=1000")
        if answer.is_success and model_is_listed(model, answer.json) is False:
            return problem(ProblemCode.PROVIDER_MODEL)
        return _meaning(answer)


def _meaning(answer: Answer) -> Problem | None:
    """Returns the problem that an answer indicates. A 403 indicates none: a restricted key may chat but not list
    models.

    Nor does a 404: it comes from a gateway without this path.
    """
    if answer.is_success or answer.status in (403, 404):
        return None
    return explain_refusal(answer.status, answer.text)
