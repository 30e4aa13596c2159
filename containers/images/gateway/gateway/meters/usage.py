"""What an answer has cost. Pure."""

from dataclasses import dataclass

from gateway.entries.entry import Price

MILLION = 1_000_000
MOST = 2**53
"""Of any count. Larger ones are no whole numbers any more, here or in the service's database."""


@dataclass(frozen=True, slots=True)
class Usage:
    input: int = 0
    """Tokens that were read, those from a cache included."""
    output: int = 0
    cached: int = 0
    money: int | None = None
    """Millionths of the currency, where the provider has said it."""
    is_estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.input + self.output


def cost_of(usage: Usage, price: Price | None) -> int:
    """Millionths of the currency, rounded up: by the price that staff keep, or else as the provider has said."""
    if price is None:
        return usage.money or 0
    cached = min(usage.cached, usage.input)
    total = (usage.input - cached) * price.input + cached * price.cached + usage.output * price.output
    return min(-(-total // MILLION), MOST)


def whole(value: object) -> int:
    """A count of tokens as a provider sent it; what is no count is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40 else 0
