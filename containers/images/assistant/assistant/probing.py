"""Asks the provider, free of charge, whether it accepts the key and offers the model.

Uses plain httpx, which the Telegram library has loaded anyway. Importing a provider's SDK takes half a second of CPU,
so at a quarter of a core the agent would start two seconds later.
"""

import asyncio
import json
import logging
from urllib.parse import quote

import httpx

from agent_contract import ProblemCode
from assistant.config import Config
from assistant.outcome import Problem
from assistant.providers import Provider, explain_refusal, is_header_safe, model_is_listed, problem

LONGEST_PROBE = 8.0  # seconds for all requests together; the start waits for them

logger = logging.getLogger(__name__)


async def probe(config: Config) -> Problem | None:
    """The problem with the provider. None where there is none, or where the provider has no way to find out."""
    if not is_header_safe(config.key):
        return problem(ProblemCode.PROVIDER_KEY)
    try:
        async with (
            asyncio.timeout(LONGEST_PROBE),
            httpx.AsyncClient(timeout=LONGEST_PROBE, headers=_headers(config), follow_redirects=True) as client,
        ):
            return await _ask(client, config)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        logger.warning("the provider cannot be reached: %s", type(error).__name__)
        return problem(ProblemCode.PROVIDER_DOWN)


async def _ask(client: httpx.AsyncClient, config: Config) -> Problem | None:
    if config.provider is Provider.OPENROUTER:
        found = await _ask_openrouter_key(client, config.api_base)
        if found is not None:
            return found
        path = f"/models/{quote(config.model.partition(':')[0], safe='/')}/endpoints"
    else:
        path = f"/models/{quote(config.model, safe='/')}"
    answer = await client.get(config.api_base + path)
    if answer.status_code == 404:
        return await _ask_list(client, config)
    return _meaning(answer)


async def _ask_openrouter_key(client: httpx.AsyncClient, api_base: str) -> Problem | None:
    answer = await client.get(f"{api_base}/key")
    facts = _json(answer).get("data")
    left = facts.get("limit_remaining") if isinstance(facts, dict) else None
    if answer.is_success and isinstance(left, int | float) and left <= 0:
        return problem(ProblemCode.PROVIDER_CREDIT)
    return None if answer.status_code == 404 else _meaning(answer)  # 404: a gateway without this path


async def _ask_list(client: httpx.AsyncClient, config: Config) -> Problem | None:
    """A 404 for a model counts only where the list of models lacks it too: gateways do not have every path."""
    answer = await client.get(f"{config.api_base}/models", params={"limit": "1000"})
    if answer.is_success and model_is_listed(config.model, _json(answer)) is False:
        return problem(ProblemCode.PROVIDER_MODEL)
    return None if answer.status_code == 404 else _meaning(answer)


def _meaning(answer: httpx.Response) -> Problem | None:
    """The problem that an answer means. A 403 means none: a restricted key may chat but not list models."""
    if answer.is_success or answer.status_code == 403:
        return None
    return explain_refusal(answer.status_code, answer.text)


def _headers(config: Config) -> dict[str, str]:
    if config.provider is Provider.ANTHROPIC:
        return {"x-api-key": config.key, "anthropic-version": "2023-06-01"}
    return {"Authorization": f"Bearer {config.key}"}


def _json(answer: httpx.Response) -> dict[str, object]:
    try:
        found = json.loads(answer.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
