"""Changes a call before it is sent to the provider, and writes its body. Pure.

The body is written from the parsed document, so that the provider reads the same values as the gateway. Otherwise they
could differ about a JSON object in which a name occurs twice.
"""

import re
from collections.abc import Mapping
from typing import Any

from gateway.budgets.prices import ceiling_for, has_own_price
from gateway.entries.entry import Entry, Kind, Price
from gateway.meters.usage import MILLION
from gateway.providers.json_documents import write_json
from gateway.providers.options import remove_fallback_options, remove_unknown_options
from gateway.providers.parsed_call import LENGTH_OPTIONS, ParsedCall
from gateway.providers.time_slices import Slices
from gateway.rules.paths import Call

_STANDARD = 2
"""The number of leading names in `LENGTH_OPTIONS` that most servers know."""
_STANDARD_VALUES = {
    "service_tier": ("auto", "default", "flex", "standard_only", None),
    "speed": ("standard", None),
    "inference_geo": ("global", None),
    "prediction": (None,),
    "betas": (None,),
    "anthropic_beta": (None,),
}
"""The values of options that cost no more than the price that staff have set. A wrong prediction costs as much as
written output. Betas belong in a header, but proxies may also read them from the body."""
_HOST_OPTIONS = "provider"
"""The option by which OpenRouter chooses among the hosts of a model, whose prices differ."""
_HOST_SUFFIX = re.compile(r":(?:nitro|exacto)(?![^:@])", re.IGNORECASE)
"""The suffix of a model's name that chooses its fastest or best host at any price."""
_PRIVACY_OPTIONS = ("data_collection", "zdr")
"""The host options about data retention, which are kept."""
LONG_INPUT_BETA = re.compile(r"context-1m-[\w-]*")
"""The beta that allows inputs of more than 200,000 tokens, each of which costs twice as much."""


def rewrite(parsed: ParsedCall, entry: Entry, kind: Kind, output: int) -> None:
    """Makes the call cost no more than was reserved, with an answer of `output` tokens, and use no other models."""
    if entry.budget.is_set:
        limit_length(parsed, output, kind)
        parsed.removed += remove_fallback_options(parsed.document)
    if entry.budget.is_set or entry.models is not None:
        parsed.removed += remove_unknown_options(parsed.document)
    if entry.budget.is_of_money:
        parsed.removed += remove_surcharges(parsed, entry.prices)
        limit_price(parsed, entry)
    request_usage(parsed, kind)


def limit_length(parsed: ParsedCall, output: int, kind: Kind) -> None:
    """Limits the length of the answer to `output` tokens for all choices together.

    Some compatible servers take a length of 0 for none, so it becomes 1 there.
    """
    names = LENGTH_OPTIONS.get(parsed.call)
    if names is None:
        return
    parsed.output = output
    each = output // parsed.choices
    given = [name for name in names if isinstance(parsed.document.get(name), int)]
    # Compatible servers know the older name. OpenAI's newer models know only the newer one.
    default = "max_tokens" if parsed.call is Call.CHAT and kind is not Kind.OPENAI else names[0]
    shortest = 0 if kind in (Kind.OPENAI, Kind.ANTHROPIC) else 1
    for name in given:
        parsed.document[name] = min(each, max(shortest, parsed.document[name]))
    if not set(given) & set(names[:_STANDARD]):
        parsed.document[default] = each


def remove_surcharges(parsed: ParsedCall, prices: Mapping[str, Price]) -> list[str]:
    """Removes options that would make the call cost more than its price. Returns their names."""
    document = parsed.document
    _remove_host_suffixes(document, prices)
    removed = [name for name, known in _STANDARD_VALUES.items() if name in document and document[name] not in known]
    for name in removed:
        del document[name]
    hosts = document.pop(_HOST_OPTIONS, None)
    if not isinstance(hosts, dict):
        return removed + ([] if hosts is None else [_HOST_OPTIONS])
    if kept := {name: hosts[name] for name in _PRIVACY_OPTIONS if name in hosts}:
        document[_HOST_OPTIONS] = kept
    return removed + [f"{_HOST_OPTIONS}.{name}" for name in sorted(hosts.keys() - kept.keys())]


def limit_price(parsed: ParsedCall, entry: Entry) -> None:
    """Makes OpenRouter refuse models that cost more than the reservation for a model without a price."""
    if (ceiling := ceiling_for(entry, (parsed.model, *parsed.fallbacks))) is None:
        return
    most = {"prompt": ceiling.input / MILLION, "completion": ceiling.output / MILLION, "request": 0}
    parsed.document[_HOST_OPTIONS] = {**parsed.document.get(_HOST_OPTIONS, {}), "max_price": most}


def _remove_host_suffixes(document: dict[str, Any], prices: Mapping[str, Price]) -> None:
    """Removes suffixes that choose a host from model names, unless staff have set a price for that very name."""

    def name(each: object) -> object:
        return each if not isinstance(each, str) or has_own_price(prices, each) else _HOST_SUFFIX.sub("", each)

    document["model"] = name(document["model"])
    for key in ("models", "fallbacks"):
        if isinstance(document.get(key), list):
            document[key] = [
                {"model": name(each["model"])} if isinstance(each, dict) else name(each) for each in document[key]
            ]


def remove_surcharge_headers(headers: dict[str, str]) -> None:
    """Removes the beta for long inputs from the headers."""
    betas = [each.strip() for each in headers.pop("anthropic-beta", "").split(",")]
    if kept := [each for each in betas if each and not LONG_INPUT_BETA.fullmatch(each)]:
        headers["anthropic-beta"] = ",".join(kept)


def request_usage(parsed: ParsedCall, kind: Kind) -> None:
    """Makes the provider report the usage at the end of a stream, and OpenRouter also the cost."""
    is_requested = False
    if kind is Kind.OPENROUTER:
        option = parsed.document.pop("usage", None)
        is_requested = isinstance(option, dict) and option.get("include") is True
        if parsed.call is Call.CHAT:
            parsed.document["usage"] = {"include": True}
    if parsed.call is not Call.CHAT or not parsed.is_stream:
        return
    options = parsed.document.get("stream_options")
    options = dict(options) if isinstance(options, dict) else {}
    parsed.hide_usage = options.get("include_usage") is not True and not is_requested
    parsed.document["stream_options"] = {**options, "include_usage": True}


def write_body(parsed: ParsedCall) -> Slices[None]:
    """Writes the call's body. Raises RefusedError if it cannot be written as JSON."""
    parsed.body = parsed.texts.restore((yield from write_json(parsed.document, incrementally=parsed.is_large)))
