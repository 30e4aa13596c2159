"""A call as the provider is asked: changed where it must be, and written anew. Pure.

It is written anew from what was read, so that the provider reads what the gateway has read: of two equal names in a
JSON object the last one counts, here and there.
"""

import re
from collections.abc import Mapping
from typing import Any

from gateway.budgets.prices import has_own_price
from gateway.entries.entry import Kind, Price
from gateway.providers.asked import LENGTHS, Asked
from gateway.providers.documents import write_json
from gateway.providers.slices import Slices
from gateway.rules.paths import Call

_STANDARD = 2
"""Names of a length that most servers know: the first ones."""
_NOT_DEARER = {
    "service_tier": ("auto", "default", "flex", "standard_only", None),
    "speed": ("standard", None),
    "inference_geo": ("global", None),
    "prediction": (None,),
    "betas": (None,),
    "anthropic_beta": (None,),
}
"""Of what a call may say of the way in which it is answered, what costs no more than the price which staff keep. What
was predicted and is not so costs as if it had been written. Betas stand in a header; servers between may take them from
here too."""
_HOSTS = "provider"
"""Where OpenRouter is told which hosts of a model may answer, whose prices differ."""
_BY_HOST = re.compile(r":(?:nitro|exacto)(?![^:@])", re.IGNORECASE)
"""In the name of a model: the fastest or the best of its hosts, whatever it asks for."""
_PRIVATE = ("data_collection", "zdr")
"""What may be said there about what hosts keep."""
LONG_INPUT = re.compile(r"context-1m-[\w-]*")
"""In `anthropic-beta`: an input of more than 200,000 tokens, of which each costs twice as much."""


def shorten(asked: Asked, output: int, kind: Kind) -> None:
    """Says in the call how long its answer may be: `output` tokens, of all choices together."""
    names = LENGTHS.get(asked.call)
    if names is None:
        return
    asked.output = output
    each = output // asked.choices
    given = [name for name in names if isinstance(asked.document.get(name), int)]
    # Servers that speak like OpenAI know the older name; OpenAI's newer models know the newer one only.
    default = "max_tokens" if asked.call is Call.CHAT and kind is not Kind.OPENAI else names[0]
    for name in given:
        asked.document[name] = min(each, asked.document[name])
    if not set(given) & set(names[:_STANDARD]):
        asked.document[default] = each


def keep_to_price(asked: Asked, prices: Mapping[str, Price]) -> None:
    """Takes out of the call what would make it dearer than its price."""
    _choose_no_dear_host(asked.document, prices)
    for name, known in _NOT_DEARER.items():
        if name in asked.document and asked.document[name] not in known:
            del asked.document[name]
    hosts = asked.document.pop(_HOSTS, None)
    if isinstance(hosts, dict) and (kept := {name: hosts[name] for name in _PRIVATE if name in hosts}):
        asked.document[_HOSTS] = kept


def _choose_no_dear_host(document: dict[str, Any], prices: Mapping[str, Price]) -> None:
    """By the name of a model, as of which staff keep no price."""

    def name(each: object) -> object:
        return each if not isinstance(each, str) or has_own_price(prices, each) else _BY_HOST.sub("", each)

    document["model"] = name(document["model"])
    for others in ("models", "fallbacks"):
        if isinstance(document.get(others), list):
            document[others] = [
                {"model": name(each["model"])} if isinstance(each, dict) else name(each) for each in document[others]
            ]


def keep_headers_to_price(headers: dict[str, str]) -> None:
    betas = [each.strip() for each in headers.pop("anthropic-beta", "").split(",")]
    if kept := [each for each in betas if each and not LONG_INPUT.fullmatch(each)]:
        headers["anthropic-beta"] = ",".join(kept)


def ask_for_usage(asked: Asked, kind: Kind) -> None:
    """Has the provider tell at the end of a stream what it has cost. OpenRouter tells money only where it is to."""
    is_wished = False
    if kind is Kind.OPENROUTER:
        wish = asked.document.pop("usage", None)
        is_wished = isinstance(wish, dict) and wish.get("include") is True
        if asked.call is Call.CHAT:
            asked.document["usage"] = {"include": True}
    if asked.call is not Call.CHAT or not asked.is_stream:
        return
    options = asked.document.get("stream_options")
    options = dict(options) if isinstance(options, dict) else {}
    asked.hides_usage = options.get("include_usage") is not True and not is_wished
    asked.document["stream_options"] = {**options, "include_usage": True}


def write(asked: Asked) -> Slices[None]:
    """Raises RefusedError."""
    asked.body = asked.texts.put_back((yield from write_json(asked.document, in_runs=asked.is_large)))
