"""By which price a call counts that may be answered by one of several models. Pure."""

import re
from collections.abc import Mapping, Sequence

from gateway.entries.entry import Price

_DATE = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8})(?=$|:)")
"""Of a variant, in the name of its model: `-2026-11-22` of OpenAI, `-20261122` of Anthropic."""


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """That of this very name, or else of the name without a date."""
    return prices.get(model) or prices.get(_DATE.sub("", model))


def dearest_of(prices: Mapping[str, Price], models: Sequence[str]) -> Price | None:
    """A price that none of these models exceeds, of those that have one: the most that the call can cost."""
    known = [price for model in models if (price := price_of(prices, model))]
    if not known:
        return None
    return Price(
        max(each.input for each in known), max(each.output for each in known), max(each.cached for each in known)
    )


def reserved_by(price: Price, *, is_cached: bool) -> Price:
    """The most that a call can cost by this price. What is written to a cache for an hour costs twice as much."""
    given = max(price.input * (2 if is_cached else 1), price.cached)
    return Price(given, price.output, given)


def settle_price(prices: Mapping[str, Price], models: Sequence[str], named: str) -> tuple[str, Price | None]:
    """The model as which a call counts, and its price. `named` is what the answer says of its model, if anything.

    Providers name a dated variant of what was asked for. What cannot be told counts as the first model, and as dear as
    the dearest one.
    """
    meant = max((each for each in models if named.startswith(each)), key=len, default="")
    if len(models) == 1:
        return models[0], price_of(prices, models[0]) or price_of(prices, named)
    return (meant, price_of(prices, meant)) if meant else (models[0], dearest_of(prices, models))
