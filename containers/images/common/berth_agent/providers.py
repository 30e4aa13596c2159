"""The providers, and what their refusals mean. Pure rules."""

from collections.abc import Mapping
from enum import StrEnum

from agent_contract import ProblemCode
from berth_agent.outcome import Problem


class Provider(StrEnum):
    ANTHROPIC = "anthropic"
    OPENROUTER = "openrouter"
    OPENAI = "openai"


PUBLIC_BASES = {
    Provider.ANTHROPIC: "https://api.anthropic.com/v1",
    Provider.OPENROUTER: "https://openrouter.ai/api/v1",
    Provider.OPENAI: "https://api.openai.com/v1",
}

DETAILS = {
    ProblemCode.PROVIDER_KEY: "The model provider rejects the API key.",
    ProblemCode.PROVIDER_CREDIT: "The account at the model provider has no credit left.",
    ProblemCode.PROVIDER_MODEL: "The model provider does not offer this model to this API key.",
    ProblemCode.PROVIDER_BUSY: "The model provider is busy or limits how often this key may ask.",
    ProblemCode.PROVIDER_DOWN: "The model provider cannot be reached or answers with errors.",
}

# What vendors write where the status alone is not enough. Compared in lower case.
CREDIT_WORDS = ("insufficient_quota", "credit balance is too low", "insufficient credits", "key limit exceeded")
MODEL_WORDS = ("model_not_found", "not a valid model", "model does not exist", "invalid model")


def guess_provider(key: str) -> Provider:
    if key.startswith("sk-ant-"):
        return Provider.ANTHROPIC
    if key.startswith("sk-or-"):
        return Provider.OPENROUTER
    return Provider.OPENAI


def is_header_safe(secret: str) -> bool:
    """Whether it can be sent in a header. A key with a space or a character beyond ASCII cannot be valid."""
    return secret.isascii() and secret.isprintable() and " " not in secret


def problem(code: ProblemCode) -> Problem:
    return Problem(code, DETAILS[code])


def explain_refusal(status: int, text: str) -> Problem | None:
    """Returns the problem that a provider's error indicates, or None if only this one message is at fault."""
    words = text.lower()
    if status == 402 or any(sign in words for sign in CREDIT_WORDS):
        return problem(ProblemCode.PROVIDER_CREDIT)
    if status == 401:
        return problem(ProblemCode.PROVIDER_KEY)
    if status in (403, 404) or (status == 400 and any(sign in words for sign in MODEL_WORDS)):
        return problem(ProblemCode.PROVIDER_MODEL)
    if status in (429, 503, 529):
        return problem(ProblemCode.PROVIDER_BUSY)
    return None if status in (400, 413, 422) else problem(ProblemCode.PROVIDER_DOWN)


def model_is_listed(model: str, listing: object) -> bool | None:
    """Whether the list of models contains the model; None if the answer is not a list and proves nothing."""
    data = listing.get("data") if isinstance(listing, Mapping) else None
    if not isinstance(data, list) or not data:
        return None
    names = {entry.get("id") for entry in data if isinstance(entry, Mapping)}
    return model in names or model.partition(":")[0] in names  # OpenRouter: "author/model:variant"
