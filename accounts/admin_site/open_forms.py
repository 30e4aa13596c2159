"""Keeps a form that was open for a while from undoing what others changed meanwhile.

Django compares a form with the row as it is when the form arrives. So a member of staff who opened a user's page before
another one suspended the user would make the user active again by saving a note.
"""

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, QueryDict
from django.utils.html import format_html

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    _Base = ModelAdmin[Any]
    _Form = forms.BaseForm
else:
    _Base = _Form = object

SHOWN = "_shown"
"""The hidden field with digests of the values that the page showed. The values themselves could fill a body twice."""

LONGEST_VALUE = 80
"""In characters: longer values are not repeated in a sentence."""


class OpenForm(_Form):
    """For a form of something that exists. Its template contains `shown_field`.

    A field that its user left alone takes the present value. A field that both have changed is refused once.
    """

    def __init__(self, data: Any = None, *args: Any, **options: Any) -> None:
        super().__init__(data, *args, **options)
        self._present = {name: _digest(self.fields[name], self[name].initial) for name in self.fields}
        self._moved: list[str] = []
        if self.is_bound:
            self._compare(_read_shown(self.data.get(SHOWN, "")))

    @property
    def shown_field(self) -> str:
        return format_html('<input type="hidden" name="{}" value="{}">', SHOWN, json.dumps(self._present))

    def clean(self) -> Any:
        for name in self._moved:
            self.add_error(
                name, f"This was changed meanwhile.{_describe(self[name].initial)} Save again to replace it."
            )
        return super().clean()

    def _compare(self, shown: dict[str, str]) -> None:
        merged = cast(QueryDict, self.data).copy()
        for name, present in self._present.items():
            before, sent = shown.get(name, present), _digest_sent(self[name])
            if present in (before, sent):
                continue
            if sent == before:
                _fill_in(merged, self[name])
            else:
                self._moved.append(name)
        self.data = merged


class FirstFaults(_Form):
    """For a form of a model: what the model says of a field that was refused already is left out."""

    def add_error(self, field: str | None, error: Any) -> None:
        told = getattr(error, "error_dict", None) if field is None else None
        if told is not None:
            error = ValidationError({name: faults for name, faults in told.items() if name not in self.errors})
        super().add_error(field, error)


class KeepsOthersChanges(_Base):
    """For a ModelAdmin: the form of a row that exists is an `OpenForm`, and only what was changed is written."""

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT002 - Django's signature
        form = super().get_form(request, obj, change=change, **options)
        return type(form.__name__, (FirstFaults, form) if obj is None else (FirstFaults, OpenForm, form), {})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=form.changed_data)
        else:
            super().save_model(request, obj, form, change)


def _read_shown(text: str) -> dict[str, str]:
    """Returns the digests, or none if they are not those of a page."""
    try:
        shown = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return shown if isinstance(shown, dict) else {}


def _digest(field: forms.Field, value: Any) -> str:
    plain = str(field.prepare_value(value)).replace("\r\n", "\n")
    return sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _digest_sent(bound: forms.BoundField) -> str:
    """Returns the digest of the sent value, or an empty text for one that the field refuses."""
    try:
        return _digest(bound.field, bound.field.to_python(bound.data))
    except ValidationError:
        return ""


def _fill_in(data: Any, bound: forms.BoundField) -> None:
    """Replaces what was sent by what the form would show now."""
    value = bound.field.prepare_value(bound.initial)
    if isinstance(bound.field, forms.BooleanField) and not value:
        data.pop(bound.html_name, None)
    else:
        data[bound.html_name] = "on" if value is True else "" if value is None else str(value)


def _describe(value: Any) -> str:
    """Returns the present value as a sentence. Empty for long ones."""
    if isinstance(value, bool):
        return f" It is {'ticked' if value else 'not ticked'} now."
    text = "empty" if value in (None, "") else f"“{value}”"
    return "" if len(text) > LONGEST_VALUE or "\n" in text else f" It is {text} now."
