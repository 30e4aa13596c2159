"""Checks a project's settings against the JSON Schema of its agent type.

No message quotes a value, because people paste credentials into the wrong field.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from jsonschema import ValidationError
from referencing.exceptions import Unresolvable
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from accounts.api.unknown_names import did_you_mean
from projects.models import AgentType
from projects.models.provider import names_for
from projects.rules.addresses import holds_credential
from projects.rules.named_providers import with_providers
from projects.rules.settings.berth_settings import OWN_SETTINGS, SETTINGS_BYTES
from projects.rules.settings.keyed_servers import as_stored
from projects.rules.settings.validator import SettingsValidator

log = logging.getLogger(__name__)

NOTHING: Mapping[str, Any] = {}
ERRORS_NAMED = 20
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""All control characters except tab and line feed, which instructions may have."""

SENTENCES = {
    "type": "Must be of type {limit}.",
    "enum": "Must be one of: {limit}.",
    "const": "Must be {limit}.",
    "required": "Lacks a setting. Required: {limit}.",
    "minLength": "Must have at least {limit} character(s).",
    "maxLength": "Must have at most {limit} characters.",
    "minItems": "Must have at least {limit} item(s).",
    "maxItems": "Must have at most {limit} items.",
    "uniqueItems": "Must not contain the same item twice.",
    "minimum": "Must be {limit} or more.",
    "maximum": "Must be {limit} or less.",
}
CREDENTIAL = (
    "An address must not contain a credential, because everyone who sees the settings and the agent can read it."
)
OTHERWISE = "Does not fit the settings of this agent type (see /api/types)."


def check_settings(agent_type: AgentType, settings: dict[str, Any], *, stored: Mapping[str, Any] = NOTHING) -> None:
    """Raises the REST framework's `ValidationError` with the path of each invalid setting.

    An address with a credential that is already in the `stored` settings does not prevent other changes.
    """
    if len(json.dumps(as_stored(agent_type.settings_schema, settings))) > SETTINGS_BYTES:
        raise _refused("The settings exceed 16 KB. Shorten them.", code="too_long")
    if CONTROL_CHARACTERS.search(_text(settings)):
        raise _refused("The settings hold control characters. Remove them.", code="control_characters")
    errors: dict[str, list[ErrorDetail]] = {}
    for error in _find_errors(agent_type, settings):
        for field, detail in _details(error):
            errors.setdefault(field, []).append(detail)
    known = {value for _, value in _find_credentials(stored)}
    found = (path for path, value in _find_credentials(settings) if value not in known)
    for path in islice(found, ERRORS_NAMED):
        errors.setdefault(".".join(["settings", *path]), []).append(ErrorDetail(CREDENTIAL, code="credential"))
    if errors:
        raise serializers.ValidationError(errors)


def _find_credentials(settings: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields the path and the text of each address with a credential. Instructions may mention one."""
    left: list[tuple[tuple[str, ...], Any]] = [((), settings)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict | list):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            left += [((*path, str(name)[:64]), inner) for name, inner in items]
        elif isinstance(value, str) and path != ("instructions",) and holds_credential(value):
            yield path, value


def _find_errors(agent_type: AgentType, settings: dict[str, Any]) -> list[ValidationError]:
    """Returns the errors by the type's schema, and for other settings also those by Berth's own rules."""
    names = names_for(settings)
    schema = with_providers(agent_type.settings_schema, names)
    try:
        validator = SettingsValidator(schema if isinstance(schema, dict | bool) else {})
        errors = list(islice(validator.iter_errors(settings), ERRORS_NAMED))
    except (RecursionError, Unresolvable):
        log.exception("The settings schema of agent type %s cannot be applied.", agent_type.slug)
        message = "The schema of this agent type refers to itself or to nothing. Tell the staff."
        raise _refused(message, code="broken_schema") from None
    named = {error.absolute_path[0] for error in errors if error.absolute_path}
    own = SettingsValidator(with_providers(OWN_SETTINGS, names)).iter_errors(settings)
    return errors + [error for error in islice(own, ERRORS_NAMED) if error.absolute_path[0] not in named]


def _details(error: ValidationError) -> Iterator[tuple[str, ErrorDetail]]:
    field = ".".join(["settings", *(str(part)[:64] for part in error.absolute_path)])
    if error.validator == "additionalProperties":
        known = _schema(error).get("properties", {})
        listed = f"Known are: {', '.join(sorted(known))}."
        unknown = [name for name in cast(dict[str, Any], error.instance) if name not in known]
        for name in unknown[:ERRORS_NAMED]:
            message = f"There is no such setting{did_you_mean(name, known)} {listed}"
            yield f"{field}.{name[:64]}", ErrorDetail(message, code="unknown")
    else:
        yield field, ErrorDetail(_sentence(error), code=str(error.validator or "not_allowed"))


def _sentence(error: ValidationError) -> str:
    """Returns the schema's rule in words. The schema is public, the value is not."""
    limit: Any = error.validator_value
    listed = ", ".join(str(value) for value in limit) if isinstance(limit, list) else limit
    sentence = SENTENCES.get(str(error.validator), OTHERWISE).format(limit=listed)
    description = _schema(error).get("description") if error.absolute_path else ""
    return f"{sentence} {description}" if description else sentence


def _schema(error: ValidationError) -> Mapping[str, Any]:
    """Returns the violated schema; empty for `false`, which is a schema too but has no properties."""
    return error.schema if isinstance(error.schema, Mapping) else {}


def _refused(message: str, *, code: str) -> serializers.ValidationError:
    return serializers.ValidationError({"settings": [ErrorDetail(message, code=code)]})


def _text(value: Any) -> str:
    """Returns all strings in a JSON value, including keys."""
    if isinstance(value, dict):
        return "".join(f"{key}{_text(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "".join(map(_text, value))
    return value if isinstance(value, str) else ""
