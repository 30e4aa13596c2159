"""The settings of an agent type in the admin: a list and a form for each, instead of its JSON Schema."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods

from accounts.admin_site.open_forms import OpenForm
from accounts.text import check_hides_nothing
from projects.models import AgentType
from projects.rules.settings.kinds import Setting
from projects.rules.settings.schema import settings_of
from projects.rules.settings.schema_editing import (
    LABELS,
    LARGEST,
    Edited,
    Shape,
    drop_setting,
    find_shape,
    parts_of,
    put_setting,
    read_setting,
)

LONGEST_NAME = 40


class SettingForm(OpenForm, forms.Form):
    name = forms.RegexField(
        r"^[a-z][a-z0-9_]*$",
        max_length=LONGEST_NAME,
        help_text="As the API and the agent call it: small letters, digits and underscores.",
        error_messages={"invalid": "Use small letters, digits and underscores, and begin with a letter."},
    )
    title = forms.CharField(required=False, max_length=80, validators=[check_hides_nothing])
    description = forms.CharField(required=False, max_length=300, validators=[check_hides_nothing])
    shape = forms.TypedChoiceField(label="Kind", coerce=Shape, choices=[(each.value, LABELS[each]) for each in Shape])
    choices = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="For one of several texts: the texts, one per line.",
    )
    minimum = forms.DecimalField(required=False, help_text="For a number.", min_value=-LARGEST, max_value=LARGEST)
    maximum = forms.DecimalField(required=False, help_text="For a number.", min_value=-LARGEST, max_value=LARGEST)
    default = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="The value if nobody sets it: yes or no for a yes-or-no setting, one text per line for a list.",
    )
    is_required = forms.BooleanField(label="Has to be set", required=False)

    def __init__(self, data: Any = None, *, edited: Edited | None = None, taken: frozenset[str] = frozenset()) -> None:
        super().__init__(data, initial=self._initial(edited) if edited else None)
        self._taken = taken
        if edited:
            self.fields["name"].disabled = True

    @staticmethod
    def _initial(edited: Edited) -> dict[str, Any]:
        shown = {name: getattr(edited, name) for name in SettingForm.base_fields}
        return {**shown, "choices": "\n".join(edited.choices)}

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name in self._taken:
            raise forms.ValidationError("The type has a setting of this name.")
        return name

    def clean_choices(self) -> tuple[str, ...]:
        lines = (line.strip() for line in self.cleaned_data["choices"].splitlines())
        return tuple(dict.fromkeys(line for line in lines if line))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("shape") is Shape.CHOICE and not cleaned.get("choices"):
            self.add_error("choices", "Name what can be chosen.")
        return cleaned


def _describe(row: AgentType, setting: Setting) -> dict[str, Any]:
    """Describes a setting for the list. `is_own`: it is one of Berth's settings that the schema does not mention."""
    shape = find_shape(setting)
    return {
        "setting": setting,
        "shape": LABELS[shape] if shape else "JSON",
        "default": setting.show(setting.default),
        "is_own": setting.name not in parts_of(row.settings_schema),
        "can_be_edited": read_setting(row.settings_schema, setting.name) is not None,
    }


class SchemaEditorMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Adds the pages to the admin of agent types. Settings that the forms cannot describe are edited as JSON."""

    def get_urls(self) -> list[URLPattern]:
        listed, one = (
            self.admin_site.admin_view(require_http_methods(methods)(view))
            for methods, view in ((["GET", "HEAD"], self.settings_view), (["GET", "HEAD", "POST"], self.setting_view))
        )
        return [
            path("<slug:slug>/settings/", listed, name="projects_agenttype_settings"),
            path("<slug:slug>/settings/edit/", one, name="projects_agenttype_setting"),
            *super().get_urls(),
        ]

    def settings_view(self, request: HttpRequest, slug: str) -> HttpResponse:
        row = self._find(request, slug)
        listed = [_describe(row, each) for each in settings_of(row.settings_schema)]
        return self._show(request, row, "settings", listed=listed, title=f"Settings of {row.title}")

    def setting_view(self, request: HttpRequest, slug: str) -> HttpResponse:
        """Shows the form of the setting that `?name=` names, or of a new one."""
        name = request.GET.get("name", "")
        with transaction.atomic():
            row = self._find(request, slug, lock=request.method == "POST")
            edited = read_setting(row.settings_schema, name) if name else None
            if row.settings_schema is False or (name and edited is None):
                raise Http404("The type has no such setting, or it is edited as JSON.")
            if edited and request.POST.get("do") == "remove":
                self._save(request, row, drop_setting(row.settings_schema, name), name, "removed")
                return redirect("admin:projects_agenttype_settings", row.pk)
            taken = frozenset() if edited else frozenset(parts_of(row.settings_schema))
            form = SettingForm(request.POST or None, edited=edited, taken=taken)
            if form.is_valid() and self._put(request, row, form, "changed" if edited else "added"):
                return redirect("admin:projects_agenttype_settings", row.pk)
        return self._show(request, row, "setting", form=form, name=name, title=name or f"A setting of {row.title}")

    def _put(self, request: HttpRequest, row: AgentType, form: SettingForm, done: str) -> bool:
        try:
            schema = put_setting(row.settings_schema, Edited(**form.cleaned_data))
        except ValueError as error:
            form.add_error("default", str(error))
            return False
        return self._save(request, row, schema, form.cleaned_data["name"], done)

    def _save(self, request: HttpRequest, row: AgentType, schema: Any, name: str, done: str) -> bool:
        """Saves the schema. Returns False and shows why if the type cannot have it."""
        row.settings_schema = schema
        try:
            row.clean()
        except ValidationError as error:
            self.message_user(request, f"Nothing was changed. {' '.join(error.messages)}", messages.ERROR)
            return False
        row.save(update_fields=["settings_schema"])
        self.log_change(request, row, f"{done.capitalize()} the setting {name}.")
        self.message_user(request, f"The setting {name} is {done}.", messages.SUCCESS)
        return True

    def _find(self, request: HttpRequest, slug: str, *, lock: bool = False) -> AgentType:
        rows = AgentType.objects.select_for_update() if lock else AgentType.objects.all()
        row = rows.filter(pk=slug).first()
        if row is None:
            raise Http404("There is no such type.")
        if not self.has_change_permission(request, row):
            raise PermissionDenied("Only admins keep agent types.")
        return row

    def _show(self, request: HttpRequest, row: AgentType, template: str, **page: Any) -> HttpResponse:
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "original": row, **page}
        form = page.get("form")
        status = 400 if form is not None and form.is_bound and form.errors else 200
        return TemplateResponse(request, f"admin/projects/agenttype/{template}.html", frame, status=status)
