"""Finds the price of a call that one of several models may answer. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial

from gateway.entries.entry import Entry, Kind, Price
from gateway.meters.usage import Usage, cost_of

_DATE = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8})(?=$|:)")
"""The date in the name of a model's version: `-2026-11-22` at OpenAI, `-20261122` at Anthropic."""
_ROUTER = re.compile(r"@preset/|openrouter/|(?:.*/)?(?:auto|router)(?:[:@].*)?$")
"""Names that leave the choice of the model to the provider."""
FREE = ":free"
"""The suffix of variants that cost nothing."""
_LONG_INPUTS = (
    (re.compile(r"gpt-(?:5\.[4-9]|[6-9]|\d\d|latest)(?!.*-(?:mini|nano))", re.IGNORECASE), 272_000),
    (re.compile(r"gemini.*-pro", re.IGNORECASE), 200_000),
    (re.compile(r"(?<![a-z])grok", re.IGNORECASE), 128_000),
)
"""Models whose calls cost more, for input and answer, if the input has more than this many tokens (according to the
price lists of OpenAI, Google and xAI)."""
_SHORTEST_LONG_INPUT = min(most for _, most in _LONG_INPUTS)
_ALIAS = re.compile(r"(?!.*claude)(?:~|.*[-:]latest(?:[:@]|$))")
"""Names that stand for the newest model of a family."""
_OF_MAKER = re.compile(
    r"(?:ai21|amazon|anthropic|cohere|deepseek|google|meta-llama|microsoft|minimax|mistralai|moonshotai|nousresearch"
    r"|nvidia|openai|perplexity|qwen|x-ai|z-ai)/"
)
"""Prefixes at OpenRouter that only the model's maker can use. Any other name may be an account's own alias."""
OPENROUTER_CEILING = Price(5_000_000, 25_000_000, 5_000_000)
"""The highest price of an OpenRouter model for which staff have set no price, in dollars: that of the largest models of
Anthropic, Google and OpenAI, except research models. The gateway makes OpenRouter refuse models that cost more."""
LONG_INPUT_FACTOR = 2
"""The most by which a long input multiplies the price. At some providers answers cost only half as much again."""


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """Returns the price of a model, or None.

    The price of the exact name counts first, then that of the name without its date. Otherwise the price of any other
    spelling of the model counts, so that an agent cannot avoid it: another case, a variant (`:nitro`, `@preset/…`),
    with or without the maker (`openai/…`). If several match, the highest counts.
    """
    if found_at_once := prices.get(model) or prices.get(_DATE.sub("", model)):
        return found_at_once
    known = [(_without_date(each), price) for each, price in prices.items()]
    for name in (_without_date(model), _without_variant(model)):
        if found := [price for each, price in known if each == name]:
            return _maximum(found)
    found = [price for each, price in known if _without_maker(each) == _without_maker(_without_variant(model))]
    return _maximum(found) if found else None


def has_own_price(prices: Mapping[str, Price], model: str) -> bool:
    """Whether staff have set a price for this very model, so that it costs no more than that."""
    return model in prices or _DATE.sub("", model) in prices


@lru_cache(maxsize=4096)
def _without_date(model: str) -> str:
    return _DATE.sub("", model.strip().lower())


def _without_variant(model: str) -> str:
    """Returns the name without OpenRouter's variant and without a tag of Ollama (`:latest`)."""
    name = _without_date(model).partition("@preset/")[0]
    whose, slash, own = name.rpartition("/")
    return name if name.endswith(FREE) else f"{whose}{slash}{own.partition(':')[0]}"


def _without_maker(name: str) -> str:
    return name.rpartition("/")[2]


def highest_price(prices: Mapping[str, Price], models: Sequence[str]) -> Price | None:
    """Returns a price that none of these models exceeds, or None if none of them has a price.

    A name that leaves the choice to the provider may cost as much as the most expensive model.
    """
    known = [price for model in models if (price := price_of(prices, model))]
    if any(_ROUTER.match(_normalized(model)) and not has_own_price(prices, model) for model in models):
        known += prices.values()
    return _maximum(known) if known else None


def _maximum(prices: Sequence[Price]) -> Price:
    return Price(
        max(each.input for each in prices), max(each.output for each in prices), max(each.cached for each in prices)
    )


def price_for_length(price: Price | None, models: Sequence[str], input_tokens: int) -> Price | None:
    """Returns the price of a call with this many input tokens, which is higher if the input is long."""
    is_long = any(input_tokens > most and known.search(model) for known, most in _LONG_INPUTS for model in models)
    return _long_price(price) if price and is_long else price


def _long_price(price: Price) -> Price:
    return Price(LONG_INPUT_FACTOR * price.input, LONG_INPUT_FACTOR * price.output, LONG_INPUT_FACTOR * price.cached)


def max_price(
    prices: Mapping[str, Price], models: Sequence[str], input_tokens: int, *,
    is_cached: bool = False, may_be_alias: bool = False,
) -> Price | None:  # fmt: skip
    """Returns the highest price that a call with this many input tokens can have if one of these models answers it.

    The call is charged as the model that answers, which is unknown beforehand behind a router or an alias.
    `may_be_alias` means that one of the names may be an alias.
    """
    price = highest_price(prices, models)
    return _adjusted(price, models, input_tokens, is_cached=is_cached, may_be_alias=may_be_alias) if price else None


def _adjusted(
    price: Price, models: Sequence[str], input_tokens: int, *, is_cached: bool, may_be_alias: bool
) -> Price:  # fmt: skip
    names = map(_normalized, models)
    is_indirect = may_be_alias or any(_ROUTER.match(name) or _ALIAS.match(name) for name in names)
    if is_indirect and input_tokens > _SHORTEST_LONG_INPUT:
        price = _long_price(price)
    else:
        price = price_for_length(price, models, input_tokens) or price
    return price_to_reserve(price, is_cached=is_cached)


def max_price_for(entry: Entry, models: Sequence[str], input_tokens: int, *, is_cached: bool = False) -> Price | None:
    """Returns the highest price of a call of this project, as `max_price` does."""
    may_be_alias = entry.provider is not None and _may_be_aliases(entry.provider.kind, models)
    if ceiling := ceiling_for(entry, models):
        return _adjusted(ceiling, models, input_tokens, is_cached=is_cached, may_be_alias=may_be_alias)
    return max_price(entry.prices, models, input_tokens, is_cached=is_cached, may_be_alias=may_be_alias)


def dearest_price(entries: Iterable[Entry], models: Sequence[str], input_tokens: int) -> Price | None:
    """Returns the highest price of such a call under any of these entries of a project."""
    known = [price for entry in entries if (price := max_price_for(entry, models, input_tokens))]
    return _maximum(known) if known else None


def ceiling_for(entry: Entry, models: Sequence[str]) -> Price | None:
    """Returns the price that OpenRouter must not exceed in this call, or None if the call needs no such limit.

    It needs none if the budget does not limit money, or if staff have set a price for each of the models.
    """
    reports_costs = entry.provider is not None and entry.provider.kind is Kind.OPENROUTER
    if not reports_costs or not entry.budget.is_of_money or all(map(partial(has_price, entry.prices), models)):
        return None
    known = highest_price(entry.prices, models)
    return _maximum([OPENROUTER_CEILING, known]) if known else OPENROUTER_CEILING


def has_price(prices: Mapping[str, Price], model: str) -> bool:
    """Whether the model is free, or a price counts for it."""
    return model.lower().endswith(FREE) or price_of(prices, model) is not None


def _may_be_aliases(kind: Kind, models: Sequence[str]) -> bool:
    """Whether one of the names may be an alias: any name on a self-hosted server, or a private name at OpenRouter."""
    if kind is Kind.OPENROUTER:
        return not all(_OF_MAKER.match(_normalized(model)) for model in models)
    return kind is Kind.COMPATIBLE


def price_to_reserve(price: Price, *, is_cached: bool) -> Price:
    """Returns the price to reserve by. Input that is written to a cache for an hour costs twice as much."""
    input_tokens = max(price.input * (2 if is_cached else 1), price.cached)
    return Price(input_tokens, price.output, input_tokens)


def _normalized(model: str) -> str:
    return model.strip().lower()


def settle_price(prices: Mapping[str, Price], models: Sequence[str], reported_model: str) -> tuple[str, Price | None]:
    """Returns the model as which a call counts, and its price. `reported_model` is the model that the answer names.

    Providers name a dated version of the requested model. If the name matches no requested model, the call counts as
    the first one, at the highest of all the prices.
    """
    meant = max((each for each in models if reported_model.startswith(each)), key=len, default="")
    if len(models) == 1:
        return models[0], price_of(prices, models[0]) or price_of(prices, reported_model)
    return (meant, price_of(prices, meant)) if meant else (models[0], highest_price(prices, models))


def final_cost(price: Price | None, usage: Usage) -> int:
    """Returns the cost of a call. A higher cost reported by the provider counts, because it may include other fees."""
    return max(cost_of(usage, price), usage.money or 0)


def cost_to_settle(entry: Entry, models: Sequence[str], reported_model: str, usage: Usage) -> tuple[str, int]:
    """Returns the model as which a call counts, and its cost."""
    answered_by, price = settle_price(entry.prices, models, reported_model)
    if usage.money is None:  # the answer broke off before the provider reported its cost
        price = ceiling_for(entry, models) or price
    return answered_by, final_cost(price_for_length(price, (answered_by, reported_model), usage.input), usage)
