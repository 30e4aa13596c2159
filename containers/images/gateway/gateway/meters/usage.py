"""What an answer has cost. Pure."""

from dataclasses import dataclass
from typing import Any

from gateway.entries.entry import Price

MILLION = 1_000_000
MOST = 2**53
"""Of any count. Larger ones are no whole numbers any more, here or in the service's database."""
OF_A_SECOND = 20
"""Tokens of a sound and of what is written down of it: ten of the sound (OpenAI, "Realtime costs"; 12.5 of Mistral's
models), and no more words than anybody speaks."""


@dataclass(frozen=True, slots=True)
class Usage:
    input: int = 0
    """Tokens that were read, those from a cache included."""
    output: int = 0
    cached: int = 0
    money: int | None = None
    """Millionths of the currency, where the provider has said it."""
    is_estimated: bool = False
    extra: int = 0
    """Tokens of the input by which it is dearer than its price says: what is written to a cache costs a quarter more,
    or twice as much where it is to stay for an hour (Anthropic, "Prompt caching")."""

    @property
    def tokens(self) -> int:
        return self.input + self.output


def cost_of(usage: Usage, price: Price | None) -> int:
    """Millionths of the currency, rounded up: by the price that staff keep, or else as the provider has said."""
    if price is None:
        return usage.money or 0
    cached = min(usage.cached, usage.input)
    total = (usage.input - cached + usage.extra) * price.input + cached * price.cached + usage.output * price.output
    return min(-(-total // MILLION), MOST)


class NoCountError(ValueError):
    """A provider has sent something else in the place of a count. What it has said of the cost cannot be relied on."""


def count_in(document: dict[str, Any], name: str) -> int | None:
    """A count of tokens as a provider sent it; None where there is none. Raises NoCountError for what is no count."""
    value = document.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40):
        return value
    raise NoCountError


def extra_of(written: int, for_an_hour: int = 0) -> int:
    return -(-(written + 3 * min(for_an_hour, written)) // 4)
