"""Reads what staff write about an agent type, one fact per line: its default models and its variables."""

import json
import re
from collections.abc import Mapping
from typing import Any

from accounts.text import hides_something
from projects.rules.permissions import split_list
from projects.rules.settings.berth_settings import PROVIDERS

ANY_PROVIDER = "any"
_MODEL = re.compile(r"[!-~]{1,200}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PLACE = re.compile(r"\{([a-z_]+(?:\.[^{}\s]{1,100})?)\}")
SETTING = "settings."

CREDENTIALS = ("telegram_token", "api_key")
"""Placeholders for credentials: virtual ones behind the gateway. Real ones are never in the environment."""

PLACES = (
    *("telegram_api", "provider_api", "provider", "model", "instructions", "allowed_users", "settings"),
    *("telegram_token_file", "api_key_file"),
    *CREDENTIALS,
)
MOST_VARIABLES = 100
RESERVED = re.compile(r"(?:LD_\w+|(?:HTTPS?|NO|ALL)_PROXY)", re.IGNORECASE)
"""Variables that would change how the image's programs are loaded, or which proxy Berth gives them."""


def read_default_models(text: str) -> dict[str, str]:
    """Returns the models by provider or `any`. Raises `ValueError` with a sentence for the staff."""
    found: dict[str, str] = {}
    for line in split_list(text):
        provider, colon, model = line.partition(":")
        if not colon or provider.strip() not in PROVIDERS:
            provider, model = ANY_PROVIDER, line
        provider, model = provider.strip(), model.strip()
        if not _MODEL.fullmatch(model):
            raise ValueError(f"“{line[:60]}” is not the name of a model. Write one, or a provider, a colon and one.")
        if provider in found:
            whose = "for all providers" if provider == ANY_PROVIDER else f"for {provider}"
            raise ValueError(f"There are two models {whose}. Leave one.")
        found[provider] = model
    return found


def default_model(text: str, provider: str) -> str:
    """Returns the model of a project that names none, or an empty text if there is no default."""
    found = read_default_models(text)
    return found.get(provider) or found.get(ANY_PROVIDER, "")


def read_variables(text: str) -> dict[str, str]:
    """Returns the templates by the names of their variables. Raises `ValueError` with a sentence for the staff."""
    found: dict[str, str] = {}
    for line in split_list(text):
        name, equals, template = line.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise ValueError(f"“{line[:60]}” is not a variable. Write NAME=value, one per line.")
        if RESERVED.fullmatch(name):
            raise ValueError(f"{name} is not for a type to set.")
        if name in found:
            raise ValueError(f"{name} is there twice. Leave one.")
        _check_template(name, template)
        found[name] = template
    if len(found) > MOST_VARIABLES:
        raise ValueError(f"These are more than {MOST_VARIABLES} variables. Leave some out.")
    return found


def _check_template(name: str, template: str) -> None:
    if hides_something(template):
        raise ValueError(f"The value of {name} has an invisible character. Remove it.")
    for place in _PLACE.findall(template):
        if place not in PLACES and not place.startswith(SETTING):
            raise ValueError(f"There is no {{{place}}}. Known are {', '.join(PLACES)} and settings.NAME.")


def places_in(text: str) -> set[str]:
    """Returns the placeholders in braces in the templates of these variables."""
    return {place for template in read_variables(text).values() for place in _PLACE.findall(template)}


def fill_variables(text: str, *, facts: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns the variables with their values, without empty ones, as the agent contract demands."""

    def fill(found: re.Match[str]) -> str:
        place = found[1]
        return as_text(settings.get(place.removeprefix(SETTING))) if place.startswith(SETTING) else facts[place]

    filled = {name: _PLACE.sub(fill, template) for name, template in read_variables(text).items()}
    return {name: value for name, value in filled.items() if value}


def as_text(value: Any) -> str:
    """Formats a setting for the environment: a text as it is, a list of texts with commas, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(each, str | int) and not isinstance(each, bool) for each in value):
        return ",".join(map(str, value))
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
