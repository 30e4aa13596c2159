"""By which price a call counts that may be answered by one of several models. Pure."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from gateway.entries.entry import Entry, Kind, Price
from gateway.meters.usage import Usage, cost_of

_DATE = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8})(?=$|:)")
"""Of a variant, in the name of its model: `-2026-11-22` of OpenAI, `-20261122` of Anthropic."""
_ROUTER = re.compile(r"@preset/|openrouter/|(?:.*/)?(?:auto|router)(?:[:@].*)?$")
"""Names that stand for whichever model the provider takes."""
FREE = ":free"
"""Costs nothing, whatever the price of its model."""
_LONG = (
    (re.compile(r"gpt-(?:5\.[4-9]|[6-9]|\d\d|latest)(?!.*-(?:mini|nano))", re.IGNORECASE), 272_000),
    (re.compile(r"gemini.*-pro", re.IGNORECASE), 200_000),
    (re.compile(r"(?<![a-z])grok", re.IGNORECASE), 128_000),
)
"""Models whose calls are dearer, input and answer, where the input has more tokens (what OpenAI, Google and xAI say of
their prices)."""
_SHORTEST_LONG = min(most for _, most in _LONG)
_ALIAS = re.compile(r"(?!.*claude)(?:~|.*[-:]latest(?:[:@]|$))")
"""Names that stand for whichever model is the newest of its kind."""
_OF_MAKER = re.compile(
    r"(?:ai21|amazon|anthropic|cohere|deepseek|google|meta-llama|microsoft|minimax|mistralai|moonshotai|nousresearch"
    r"|nvidia|openai|perplexity|qwen|x-ai|z-ai)/"
)
"""Names at OpenRouter that only their maker gives out. Any other may be an account's own alias."""
OF_LONG = 2
"""Times the price, at the most: answers are half as dear again at some."""


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """That of this very name, or else of the name without a date; or else of a name that means the same model, by which
    it would pass uncounted: of another case, of a variant (`:nitro`, `@preset/…`), with or without whose it is
    (`openai/…`). Of several such the dearest."""
    if found_at_once := prices.get(model) or prices.get(_DATE.sub("", model)):
        return found_at_once
    known = [(_undated(each), price) for each, price in prices.items()]
    for name in (_undated(model), _base(model)):
        if found := [price for each, price in known if each == name]:
            return _dearest(found)
    found = [price for each, price in known if _bare(each) == _bare(_base(model))]
    return _dearest(found) if found else None


def is_kept(prices: Mapping[str, Price], model: str) -> bool:
    """Whether staff keep a price for this model itself, so that it costs no more than that."""
    return model in prices or _DATE.sub("", model) in prices


@lru_cache(maxsize=4096)
def _undated(model: str) -> str:
    return _DATE.sub("", model.strip().lower())


def _base(model: str) -> str:
    """Without its variant, as OpenRouter writes these, and without what Ollama calls the latest one."""
    name = _undated(model).partition("@preset/")[0]
    whose, slash, own = name.rpartition("/")
    return name if name.endswith(FREE) else f"{whose}{slash}{own.partition(':')[0]}"


def _bare(name: str) -> str:
    return name.rpartition("/")[2]


def dearest_of(prices: Mapping[str, Price], models: Sequence[str]) -> Price | None:
    """A price that none of these models exceeds, of those that have one: the most that the call can cost. A name that
    leaves the choice to the provider is as dear as any."""
    known = [price for model in models if (price := price_of(prices, model))]
    if any(_ROUTER.match(_plain(model)) and not is_kept(prices, model) for model in models):
        known += prices.values()
    return _dearest(known) if known else None


def _dearest(prices: Sequence[Price]) -> Price:
    return Price(
        max(each.input for each in prices), max(each.output for each in prices), max(each.cached for each in prices)
    )


def by_length(price: Price | None, models: Sequence[str], given: int) -> Price | None:
    """The price of a call with an input of so many tokens."""
    is_long = any(given > most and known.search(model) for known, most in _LONG for model in models)
    return _as_long(price) if price and is_long else price


def _as_long(price: Price) -> Price:
    return Price(OF_LONG * price.input, OF_LONG * price.output, OF_LONG * price.cached)


def most_of(
    prices: Mapping[str, Price], models: Sequence[str], given: int, *, is_cached: bool = False, by_any: bool = False
) -> Price | None:
    """Returns the most that a call can cost if one of these models answers an input of so many tokens. The call counts
    as the model that answers, which nobody knows beforehand behind a router or an alias. `by_any`: one of the names may
    be an alias."""
    price = dearest_of(prices, models)
    if price is None:
        return None
    stands_for_others = by_any or any(_ROUTER.match(name) or _ALIAS.match(name) for name in map(_plain, models))
    if stands_for_others and given > _SHORTEST_LONG:
        price = _as_long(price)
    else:
        price = by_length(price, models, given) or price
    return reserved_by(price, is_cached=is_cached)


def most_for(entry: Entry, models: Sequence[str], given: int, *, is_cached: bool = False) -> Price | None:
    """Returns the same for a call of this project."""
    by_any = entry.provider is not None and _may_be_aliases(entry.provider.kind, models)
    return most_of(entry.prices, models, given, is_cached=is_cached, by_any=by_any)


def _may_be_aliases(kind: Kind, models: Sequence[str]) -> bool:
    """Any name on an operator's own server may stand for any model, and so may a private name at OpenRouter."""
    if kind is Kind.OPENROUTER:
        return not all(_OF_MAKER.match(_plain(model)) for model in models)
    return kind is Kind.COMPATIBLE


def reserved_by(price: Price, *, is_cached: bool) -> Price:
    """The most that a call can cost by this price. What is written to a cache for an hour costs twice as much."""
    given = max(price.input * (2 if is_cached else 1), price.cached)
    return Price(given, price.output, given)


def _plain(model: str) -> str:
    return model.strip().lower()


def settle_price(prices: Mapping[str, Price], models: Sequence[str], named: str) -> tuple[str, Price | None]:
    """The model as which a call counts, and its price. `named` is what the answer says of its model, if anything.

    Providers name a dated variant of what was asked for. What cannot be told counts as the first model, and as dear as
    the dearest one.
    """
    meant = max((each for each in models if named.startswith(each)), key=len, default="")
    if len(models) == 1:
        return models[0], price_of(prices, models[0]) or price_of(prices, named)
    return (meant, price_of(prices, meant)) if meant else (models[0], dearest_of(prices, models))


def cost_by(price: Price | None, usage: Usage) -> int:
    """What a call has cost. What the provider says counts if it is more: it may have charged what has no price."""
    return max(cost_of(usage, price), usage.money or 0)
