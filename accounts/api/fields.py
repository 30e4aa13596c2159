"""Strict serializers and fields: unknown fields are errors, and values of another type are not converted."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.settings import api_settings

from accounts.api.unknown_names import describe_unknown_names
from accounts.text import UNSEEN, has_control_characters, hides_something


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses a field that it does not have, with the code `unknown`."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if data is not serializers.empty and not isinstance(data, Mapping):
            message = ErrorDetail("Send a JSON object.", code="invalid")
            raise ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [message]})
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        known = [name for name, field in self.fields.items() if not field.read_only]
        errors = describe_unknown_names(data, known=known, noun="field")
        try:
            value = super().to_internal_value(data)
        except ValidationError as error:
            if isinstance(error.detail, dict):
                raise ValidationError({**error.detail, **errors}) from None
            raise
        if errors:
            raise ValidationError(errors)
        return value


# Patterns for the OpenAPI description: a visible character, and any character except control characters.
VISIBLE = r"[^\s\x00-\x1f\x7f-\x9f]"
_ANY = r"[^\x00-\x1f\x7f-\x9f]"


class StrictCharField(serializers.CharField):
    """A JSON string without control characters. `multiline` allows line breaks and tabs.

    `content` is a pattern for the OpenAPI description, for a field whose text is also checked elsewhere.
    """

    default_error_messages = {
        "invalid": "Must be a string.",
        "control": "Must not contain control characters.",
    }

    def __init__(self, *, multiline: bool = False, content: str = "", **kwargs: Any) -> None:
        self.multiline = multiline
        self._content = content
        super().__init__(**kwargs)

    @property
    def pattern(self) -> str | None:
        """Returns the pattern for the OpenAPI description, or None for a text of several lines."""
        if self.multiline:
            return None
        if not self.trim_whitespace:
            return f"^{_ANY}*$"
        line = self._content or f"{VISIBLE}({_ANY}*{VISIBLE})?"
        return rf"^\s*({line})?\s*$" if self.allow_blank else rf"^\s*{line}\s*$"

    def run_validation(self, data: Any = serializers.empty) -> Any:
        # This must come before the blank check of the base class, which converts any value with str().
        if data is not serializers.empty and data is not None and not isinstance(data, str):
            self.fail("invalid")
        # The limit applies to the text as sent, before trimming, as the OpenAPI description says.
        if isinstance(data, str) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        if has_control_characters(value, multiline=self.multiline):
            self.fail("control")
        return value


class NameField(StrictCharField):
    """A name by which people recognise something. It has no invisible characters and no direction marks."""

    default_error_messages = {"control": UNSEEN, "invisible": UNSEEN}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(help_text="No control characters, no invisible ones, no direction marks.", **kwargs)

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        if hides_something(value):
            self.fail("invisible")
        return value


class ObjectField(serializers.DictField):
    default_error_messages = {"not_a_dict": "Must be a JSON object."}


class StrictChoiceField(serializers.ChoiceField):
    """Accepts only a choice of exactly the right JSON type: neither `"30"` nor `true` is a number."""

    def __init__(self, choices: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(choices, **kwargs)
        named = ", ".join([*map(str, self.choices), *(["null"] if self.allow_null else [])])
        self.error_messages["invalid_choice"] = f"Must be one of: {named}."

    def to_internal_value(self, data: Any) -> Any:
        if not any(type(data) is _json_type(choice) and data == choice for choice in self.choices):
            self.fail("invalid_choice")
        return super().to_internal_value(data)


def _json_type(choice: object) -> type:
    """Returns the type of the value after JSON decoding. Members of text enumerations are subclasses of str."""
    return str if isinstance(choice, str) else type(choice)
