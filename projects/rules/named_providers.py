"""Providers that the staff have named beside those that Berth knows: whose keys look how, and where they are. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from projects.rules.settings.own import PROVIDERS

ANTHROPIC, OPENAI, OPENROUTER = PROVIDERS

SPOKEN = OPENAI
"""In whose shapes agents speak to each provider that the staff have named."""

KEYS = {"sk-ant-": ANTHROPIC, "sk-or-": OPENROUTER}
"""How the keys of providers that Berth knows begin. All others are taken for OpenAI's."""

_OPENAI_KEYS = "sk-"
"""As those of some others: projects name these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProvider:
    """`base_url` is where its API begins, as `https://api.groq.com/openai/v1`."""

    base_url: str
    key_prefix: str = ""
    default_model: str = ""


Named = Mapping[str, NamedProvider]
"""By the name that projects have for it."""


def recognise_provider(api_key: str, named: Named) -> str:
    """The provider whose keys begin so; of several the longest beginning counts."""
    theirs = {} if is_of_known(api_key) else {each.key_prefix: name for name, each in named.items() if each.key_prefix}
    begins = theirs | KEYS
    found = max((begin for begin in begins if api_key.startswith(begin)), key=len, default="")
    return begins[found] if found else OPENAI


def takes_keys_of_others(key_prefix: str) -> str:
    """The beginning of another provider's keys that this one would take, too; empty where it takes none."""
    theirs = (*KEYS, _OPENAI_KEYS)
    return next((each for each in theirs if each.startswith(key_prefix) or key_prefix.startswith(each)), "")


def is_of_known(api_key: str) -> bool:
    """Whether the key's beginning is one of a provider that Berth knows, which none that the staff name may have."""
    return api_key.startswith((*KEYS, _OPENAI_KEYS))


def spoken_by(provider: str) -> str:
    """The provider in whose shapes agents speak to this one; empty where there is none."""
    return provider if provider in PROVIDERS or not provider else SPOKEN


def with_providers(schema: Any, names: Collection[str]) -> Any:
    """The schema of settings with these among the providers to choose from, where it lets choose OpenAI."""
    properties = schema.get("properties") if isinstance(schema, Mapping) and names else None
    part = properties.get("provider") if isinstance(properties, Mapping) else None
    if not isinstance(properties, Mapping) or not isinstance(part, Mapping):
        return schema
    known = part.get("enum")
    if not isinstance(known, list) or SPOKEN not in known:
        return schema
    chosen = {**part, "enum": [*known, *(name for name in names if name not in known)]}
    return {**schema, "properties": {**properties, "provider": chosen}}
