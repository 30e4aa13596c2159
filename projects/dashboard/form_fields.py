"""The fields of the projects' forms, and how a setting stands in one."""

import re
from collections.abc import Callable
from typing import Any

from django import forms

from projects.models import AgentType, Plan


def secret_field(label: str, help_text: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=label, required=False, widget=widget, help_text=help_text)


def text_field(help_text: str = "", *, rows: int = 0, **attrs: Any) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, **attrs}) if rows else forms.TextInput(attrs=attrs)
    return forms.CharField(required=False, widget=widget, help_text=help_text)


def choices_of(offers: Callable[[], Any]) -> Callable[[], list[tuple[str, str]]]:
    return lambda: [(offer.slug, describe_row(offer)) for offer in offers()]


def describe_row(offer: Plan | AgentType) -> str:
    if isinstance(offer, AgentType):
        return offer.title
    number = "1 project" if offer.max_projects == 1 else f"{offer.max_projects} projects"
    return f"{offer.slug}: {offer.memory_mb} MB, {offer.cpus.normalize():f} CPU, {number}"


def text_of(setting: Any) -> str:
    """A setting as it stands in a text field."""
    if isinstance(setting, list):
        return "\n".join(str(entry) for entry in setting)
    return "" if setting is None else str(setting)


def read_setting(name: str, text: str) -> str | list[str]:
    if name == "allowed_users":
        return [entry for entry in re.split(r"[\s,]+", text) if entry]
    return text.strip().replace("\r\n", "\n")
