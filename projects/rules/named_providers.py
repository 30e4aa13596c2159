"""Providers that staff add to the built-in ones: their addresses, and how their keys are recognised. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from projects.rules.settings.berth_settings import PROVIDERS

ANTHROPIC, OPENAI, OPENROUTER = PROVIDERS

API_FORMAT = OPENAI
"""The provider whose API format agents use with every provider that staff added."""

KEYS = {"sk-ant-": ANTHROPIC, "sk-or-": OPENROUTER}
"""The prefixes of keys of built-in providers. Any other key is taken for OpenAI's."""

_OPENAI_KEYS = "sk-"
"""OpenAI's prefix, which some other providers use too: projects have to name those providers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProvider:
    """`base_url` is the address of its API, such as `https://api.groq.com/openai/v1`."""

    base_url: str
    key_prefix: str = ""
    default_model: str = ""


Named = Mapping[str, NamedProvider]
"""Providers by the name that projects use."""


def recognise_provider(api_key: str, named: Named) -> str:
    """Returns the provider whose key prefix matches. The longest matching prefix wins."""
    theirs = {} if is_of_known(api_key) else {each.key_prefix: name for name, each in named.items() if each.key_prefix}
    begins = theirs | KEYS
    found = max((begin for begin in begins if api_key.startswith(begin)), key=len, default="")
    return begins[found] if found else OPENAI


def takes_keys_of_others(key_prefix: str) -> str:
    """Returns the prefix of another provider whose keys this prefix would match too, or an empty text."""
    theirs = (*KEYS, _OPENAI_KEYS)
    return next((each for each in theirs if each.startswith(key_prefix) or key_prefix.startswith(each)), "")


def is_of_known(api_key: str) -> bool:
    """Returns whether the key has the prefix of a built-in provider. Providers that staff add cannot use these."""
    return api_key.startswith((*KEYS, _OPENAI_KEYS))


def api_format_of(provider: str) -> str:
    """Returns the provider whose API format agents use with this one; empty if there is no provider."""
    return provider if provider in PROVIDERS or not provider else API_FORMAT


def with_providers(schema: Any, names: Collection[str]) -> Any:
    """Returns the settings' schema with these names added to its providers, if the schema allows OpenAI."""
    properties = schema.get("properties") if isinstance(schema, Mapping) and names else None
    part = properties.get("provider") if isinstance(properties, Mapping) else None
    if not isinstance(properties, Mapping) or not isinstance(part, Mapping):
        return schema
    known = part.get("enum")
    if not isinstance(known, list) or API_FORMAT not in known:
        return schema
    chosen = {**part, "enum": [*known, *(name for name in names if name not in known)]}
    return {**schema, "properties": {**properties, "provider": chosen}}
