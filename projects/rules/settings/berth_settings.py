"""The settings that Berth itself reads. Its rules for them apply under the schema of every agent type."""

import json
from typing import Any

from projects.errors import UnusableSettingsError
from projects.rules.settings.validator import SettingsValidator

SETTINGS_BYTES = 16 * 1024
"""The maximum length of all settings together, as JSON."""

PROVIDERS = ("anthropic", "openai", "openrouter")

OWN_SETTINGS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "model": {"type": "string", "maxLength": 200, "description": "The model's name as its provider spells it."},
        "instructions": {"type": "string", "maxLength": 16_000, "description": "How the agent is to behave."},
        "allowed_users": {
            "type": "array",
            "maxItems": 1000,
            "description": "Telegram user ids or @usernames, who need no pairing; * is everybody.",
            "items": {
                "anyOf": [
                    {"type": "integer", "minimum": 1, "maximum": 10**18},
                    {"type": "string", "pattern": r"^([0-9]{1,18}|@[A-Za-z0-9_]{3,64}|\*)$"},
                ]
            },
        },
        "provider": {"enum": list(PROVIDERS), "description": "Else told from the API key."},
    },
}
"""The rules that these settings must follow so that an agent can get them. A type's own schema may be stricter."""

UNUSED_DEFAULTS = frozenset({"provider"})
"""Settings for which a schema's default would be wrong: Berth derives the provider from the API key if none is set."""

_validator = SettingsValidator(OWN_SETTINGS)


def check_own_settings(settings: Any, *, own: Any = OWN_SETTINGS) -> None:
    """Raises `UnusableSettingsError`, which names the setting, if the settings break a rule.

    `own` is `OWN_SETTINGS` with the providers that staff added. The API checks what owners send and lists all faults;
    this check is for settings that were stored before the API had a check.
    """
    for error in SettingsValidator(own).iter_errors(settings):
        name = ".".join(["settings", *(str(part)[:64] for part in error.absolute_path)])
        raise UnusableSettingsError(f"{name} is invalid, so no container can be created. Correct it, then start.")


def may_be_default(name: str, value: Any) -> bool:
    """Returns whether a schema may have this default. Defaults of settings that Berth does not read are all allowed."""
    return name not in UNUSED_DEFAULTS and _validator.is_valid({name: value})


def fits_schema(settings: Any, schema: Any, *, own: Any = OWN_SETTINGS) -> bool:
    """Returns whether the settings follow Berth's rules (`own`) and the schema of their agent type."""
    of_type = SettingsValidator(schema if isinstance(schema, dict | bool) else {})
    return bool(
        SettingsValidator(own).is_valid(settings)
        and of_type.is_valid(settings)
        and len(json.dumps(settings)) <= SETTINGS_BYTES
    )
