"""The form of a command on many projects, and the confirmation before many are deleted."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms

from projects.dashboard.content.bulk import LABELS

MOST = 200
"""The maximum number of projects in one command: more than a page of the list has."""


class _ProjectsField(forms.TypedMultipleChoiceField):
    """Ids of projects in the order in which they were sent. Their owner is checked later, for each project."""

    def valid_value(self, _value: Any) -> bool:
        return True

    def to_python(self, value: Any) -> list[str]:
        return list(dict.fromkeys(super().to_python(value)))

    def validate(self, value: list[str]) -> None:
        super().validate(value)
        if len(value) > MOST:
            raise forms.ValidationError(f"Choose at most {MOST} projects at a time.")


class BulkForm(forms.Form):
    project = _ProjectsField(
        coerce=UUID,
        error_messages={
            "required": "Choose at least one project.",
            "invalid_choice": "Choose projects from the list.",
            "invalid_list": "Choose projects from the list.",
        },
    )
    action = forms.ChoiceField(
        choices=list(LABELS.items()),
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose start, stop, restart or delete."),
    )
    confirmed = forms.BooleanField(required=False)


class ConfirmDeletionForm(forms.Form):
    """Asks for the number of projects, so that nobody deletes many by accident."""

    number = forms.IntegerField(
        label="How many projects to delete",
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )

    def __init__(self, expected: int, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self._expected = expected
        self.fields["number"].help_text = f"Type {expected} to confirm."

    def clean_number(self) -> int:
        number: int = self.cleaned_data["number"]
        if number != self._expected:
            raise forms.ValidationError(f"Type {self._expected}, the number of projects on this page.")
        return number
