"""The usage of a call and its cost. Pure."""

from dataclasses import dataclass
from typing import Any

from gateway.entries.entry import Price

MILLION = 1_000_000
MAX_COUNT = 2**53
"""The largest count. JSON parsers may round larger numbers, and sums of them could overflow in a database."""
AUDIO_TOKENS_PER_SECOND = 20
"""Tokens per second of audio, including its transcript: ten for the audio (OpenAI, "Realtime costs"; 12.5 for Mistral's
models), and the rest for the words, at the speed at which people speak."""


@dataclass(frozen=True, slots=True)
class Usage:
    input: int = 0
    """Tokens of the input, including those from a cache."""
    output: int = 0
    cached: int = 0
    money: int | None = None
    """Millionths of the currency, if the provider has reported the cost."""
    is_estimated: bool = False
    extra: int = 0
    """Input tokens added for writes to a cache. These cost a quarter more than other input, or twice as much if the
    cache keeps them for an hour (Anthropic, "Prompt caching")."""
    has_output: bool = True
    """Whether the provider has reported the output. Otherwise `output` is the least that it can be."""

    @property
    def tokens(self) -> int:
        return self.input + self.output


def cost_of(usage: Usage, price: Price | None) -> int:
    """Returns the cost in millionths of the currency, rounded up. Without a price, the provider's own figure counts."""
    if price is None:
        return usage.money or 0
    cached = min(usage.cached, usage.input)
    total = (usage.input - cached + usage.extra) * price.input + cached * price.cached + usage.output * price.output
    return min(-(-total // MILLION), MAX_COUNT)


class NoCountError(ValueError):
    """A provider sent something other than a count, so its report of the usage is unreliable."""


def count_in(document: dict[str, Any], name: str) -> int | None:
    """Returns the token count that a provider sent under this name, or None. Raises NoCountError if it is no count."""
    value = document.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40):
        return value
    raise NoCountError


def largest_in(document: dict[str, Any], *names: str) -> int | None:
    """Returns the largest count under these names for the same number, or None. Raises NoCountError."""
    return max((count for name in names if (count := count_in(document, name)) is not None), default=None)


def cache_surcharge(written: int, for_an_hour: int = 0) -> int:
    """Returns the tokens to add for writes to a cache, some of which it keeps for an hour, rounded up."""
    return -(-(written + 3 * min(for_an_hour, written)) // 4)


def read_money(document: dict[str, Any]) -> int | None:
    """Returns the cost that OpenRouter reports, or None if there is none.

    If the account has a key of its own at the model's provider (`is_byok`), `cost` is only OpenRouter's fee. The
    provider's price, which that key pays, is in the details. For other calls the details repeat the cost.
    """
    cost, details = _millionths(document.get("cost")), document.get("cost_details")
    if cost is None or document.get("is_byok") is False or not isinstance(details, dict):
        return cost
    return cost + (_millionths(details.get("upstream_inference_cost")) or 0)


def _millionths(dollars: object) -> int | None:
    if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars < MILLION:
        return None
    return round(dollars * MILLION)
