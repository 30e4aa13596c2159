"""The form fields for the settings of an agent type, built from its schema."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from projects.rules.settings.json_documents import UnusableJSONError
from projects.rules.settings.keyed_servers import without_credentials
from projects.rules.settings.kinds import Kind, Setting
from projects.rules.settings.merge_patch import is_same_json, make_patch, merge_patch
from projects.rules.settings.schema import FIRST, settings_of

PREFIX = "setting_"
"""The prefix of a setting's field if the form already uses its name for something else."""

USABLE, UNUSABLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*"), re.compile(r"[^A-Za-z0-9_-]")
"""Names that can be the id of an element, and characters that cannot be in one."""

NO_SETTINGS: Any = False
"""The schema that accepts nothing."""

LONGEST_SHOWN = 200
"""The maximum length of a default that a form shows."""

NULL_INSIDE = "A change cannot store null in an object. Leave that name out, or give it another value."

PLAIN = {"autocomplete": "off"}
ROWS = {"instructions": 5}


class CredentialLines(forms.Textarea):
    """A text area that never repeats a typed credential."""

    def format_value(self, value: Any) -> str | None:
        return without_credentials(str(value)) if value else None


class SettingFields:
    """The settings of one agent type on one form, by field name."""

    def __init__(self, schema: Any, stored: Mapping[str, Any], *, taken: Iterable[str]) -> None:
        self._stored = stored
        self.by_field: dict[str, Setting] = {}
        names = {*taken, "csrfmiddlewaretoken"}
        for setting in settings_of(schema):
            field = setting.name if USABLE.fullmatch(setting.name) else PREFIX + UNUSABLE.sub("_", setting.name)
            while field in names:
                field = PREFIX + field
            names.add(field)
            self.by_field[field] = setting.for_value(stored.get(setting.name))

    @property
    def main_fields(self) -> list[str]:
        """The fields of Berth's own settings and of required ones."""
        return [field for field, setting in self.by_field.items() if setting.name in FIRST or setting.is_required]

    @property
    def shown_fields(self) -> list[str]:
        """The fields that show what is stored. Those with credentials leave these out."""
        return [field for field, setting in self.by_field.items() if not setting.holds_credentials]

    def make_fields(self) -> dict[str, forms.CharField]:
        return {field: _make_field(setting) for field, setting in self.by_field.items()}

    def initial(self) -> dict[str, str]:
        return {field: setting.show(self._stored.get(setting.name)) for field, setting in self.by_field.items()}

    def find_unrepeated(self, typed: Mapping[str, str]) -> list[str]:
        """Returns the fields whose text has credentials, which no page repeats."""
        secret = [field for field, setting in self.by_field.items() if setting.holds_credentials and field in typed]
        return [field for field in secret if without_credentials(typed[field]).split() != typed[field].split()]

    def find_field(self, name: str) -> str | None:
        """Returns the field of the setting with this name, or None."""
        return next((field for field, setting in self.by_field.items() if setting.name == name), None)

    def find_unreadable(self, typed: Mapping[str, str]) -> dict[str, str]:
        """Returns sentences by field about invalid JSON and about missing required settings."""
        found = {}
        for field, setting in self.by_field.items():
            if field not in typed:
                continue
            try:
                is_empty = setting.read(typed[field]) is None
            except UnusableJSONError as error:
                found[field] = str(error)
            except ValueError as error:
                found[field] = f"This is not JSON: {error}"
            else:
                if is_empty and setting.is_required:
                    found[field] = "Fill this in: the agent needs it."
        return found

    def patch(self, typed: Mapping[str, str]) -> dict[str, Any]:
        """Returns the form's changes to the stored settings as a merge patch. Unchanged ones keep their JSON type."""
        changes = {}
        for field, setting in self.by_field.items():
            if field not in typed:  # the form was rendered before the type had this setting
                continue
            stored = self._stored.get(setting.name)
            try:
                value, before = setting.read(typed[field]), setting.read(setting.show(stored))
            except ValueError:
                continue
            if not is_same_json(value, before):
                changes[setting.name] = make_patch(stored, value)
        return changes

    def find_unpatchable(self, typed: Mapping[str, str]) -> dict[str, str]:
        """Returns a sentence by field for each value that no merge patch can produce from the stored one."""
        patch, found = self.patch(typed), {}
        for field, setting in self.by_field.items():
            if setting.name in patch:
                after = merge_patch(self._stored, patch).get(setting.name)
                if not is_same_json(after, setting.read(typed[field])):
                    found[field] = NULL_INSIDE
        return found


def _make_field(setting: Setting) -> forms.CharField:
    """Returns a field that accepts any text, because the schema checks it as in the API."""
    field = forms.CharField(
        label=setting.title, required=False, strip=False, widget=_widget(setting), help_text=_help(setting)
    )
    if setting.is_required:
        field.widget.attrs["required"] = True
    return field


def _widget(setting: Setting) -> forms.Widget:
    limits = {short: setting.limits[word] for word, short in _LIMITS.items() if word in setting.limits}
    match setting.kind:
        case Kind.CHOICE:
            return forms.Select(choices=[("", "not set"), *setting.choices])
        case Kind.INTEGER | Kind.NUMBER:
            step = 1 if setting.kind is Kind.INTEGER else "any"
            return forms.NumberInput(attrs={**PLAIN, **limits, "step": step})
        case Kind.TEXT:
            return forms.TextInput(attrs=PLAIN)
        case Kind.LINES:
            return forms.Textarea(attrs={"rows": ROWS.get(setting.name, 4)})
        case _ if setting.holds_credentials:
            return CredentialLines(attrs={"rows": 4, **PLAIN, "spellcheck": "false", "data-credentials": ""})
        case _:
            return forms.Textarea(attrs={"rows": 4, **PLAIN, "spellcheck": "false"})


_LIMITS = {"minimum": "min", "maximum": "max"}


def _help(setting: Setting) -> str:
    sentences = [setting.description]
    if setting.kind is Kind.LIST and "each line" not in sentences[0]:
        sentences.append("One on each line.")
    if setting.kind is Kind.JSON:
        sentences.append("As JSON.")
    if setting.default is not None:
        default = dict(setting.choices).get(setting.show(setting.default)) or setting.show(setting.default)
        sentences.append(f"Without it: {default[:LONGEST_SHOWN]}")
    return " ".join(part for part in sentences if part)
