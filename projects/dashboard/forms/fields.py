"""Fields of the projects' forms."""

from collections.abc import Callable, Iterable
from typing import Any

from django import forms

from projects.models import AgentType, Plan
from projects.rules.disk import describe_size


def secret_field(label: str, help_text: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=label, required=False, widget=widget, help_text=help_text)


def text_field(help_text: str = "", *, rows: int = 0, **attrs: Any) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, **attrs}) if rows else forms.TextInput(attrs=attrs)
    return forms.CharField(required=False, widget=widget, help_text=help_text)


def send_shown(form: forms.Form, names: Iterable[str]) -> None:
    """Lets the form send along what it showed in these fields, see `find_untouched`."""
    for name in names:
        form.fields[name].show_hidden_initial = True


def find_untouched(form: forms.Form) -> set[str]:
    """Returns the fields that were sent as they were shown, so that what others changed meanwhile stays."""
    came_along = {name for name in form.fields if form[name].html_initial_name in form.data}
    return came_along.difference(form.changed_data)


def choices_of(find_rows: Callable[[], Any]) -> Callable[[], list[tuple[str, str]]]:
    """Returns the choices of a field, which are read again for each form."""
    return lambda: [(row.slug, describe_row(row)) for row in find_rows()]


def describe_row(row: Plan | AgentType) -> str:
    if isinstance(row, AgentType):
        return row.title
    limit = row.max_projects if row.owner_limit is None else row.owner_limit
    number = "1 project" if limit == 1 else f"{limit} projects"
    return f"{row.slug}: {row.memory_mb} MB, {row.cpus.normalize():f} CPU, {describe_size(row.disk)} disk, {number}"
