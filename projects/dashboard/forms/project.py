"""The forms of an existing project."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.views.decorators.debug import sensitive_variables

from accounts.text import as_shown
from projects.api.serializers.project_requests import ProjectChangeSerializer
from projects.dashboard.forms.fields import describe_row, find_untouched, send_shown, text_field
from projects.dashboard.forms.shared import ProjectForm
from projects.models import AgentType, Project, plans_offered_to
from projects.rules.status.lifecycle import Action
from projects.services import ProjectChange


class ChangeProjectForm(ProjectForm):
    serializer: ProjectChangeSerializer

    restart = forms.BooleanField(
        label="Restart now",
        required=False,
        help_text="Otherwise a change applies from the next start on; behind the gateway, credentials apply at once.",
    )

    def __init__(self, project: Project, data: Mapping[str, Any] | None = None) -> None:
        initial = {"name": project.name, "plan": project.plan_id, "egress": project.own_egress}
        super().__init__(project.owner, data, initial=initial)
        self.project = project
        self.add_setting_fields(project.agent_type, project.settings)
        send_shown(self, [*initial, *self.settings.shown_fields])
        plan = cast(forms.ChoiceField, self.fields["plan"])
        if project.plan not in plans_offered_to(project.owner):
            plan.choices = [(project.plan.slug, describe_row(project.plan)), *cast(list[Any], plan.choices)]
        for secret, label in (("telegram_token", "New bot token"), ("api_key", "New API key")):
            hint = getattr(project, f"{secret}_hint")
            stored_hint = f"Stored: …{hint}. " if hint else ""
            self.fields[secret].label = label
            self.fields[secret].help_text = f"{stored_hint}Leave it empty to keep the one it has."

    @property
    def agent_type(self) -> AgentType:
        return self.project.agent_type

    def find_unreadable_settings(self) -> dict[str, str]:
        return {**self.settings.find_unpatchable(self.typed()), **super().find_unreadable_settings()}

    @sensitive_variables()
    def make_serializer(self) -> ProjectChangeSerializer:
        """Returns a serializer with only the changes, because unchanged values may no longer be available."""
        sent = {"name": self.cleaned_data.get("name", ""), "plan": self.cleaned_data.get("plan", self.project.plan_id)}
        stored = {"name": self.project.name, "plan": self.project.plan_id, "egress": self.project.own_egress}
        sent["egress"] = self.cleaned_data.get("egress") or stored["egress"]
        untouched = find_untouched(self)
        changed: dict[str, Any] = {
            name: value for name, value in sent.items() if value != stored[name] and name not in untouched
        }
        if patch := self.settings_patch():
            changed["settings"] = patch
        return ProjectChangeSerializer(self.project, data={**changed, **self.secrets_sent()})

    def typed(self) -> dict[str, str]:
        untouched = find_untouched(self)
        return {name: text for name, text in super().typed().items() if name not in untouched}

    @property
    def changes_something(self) -> bool:
        return bool(self.serializer.validated_data)

    def build(self) -> ProjectChange:
        return self.serializer.build()


class DeleteProjectForm(forms.Form):
    name = text_field(autocomplete="off", autocapitalize="none", spellcheck="false", required=True)

    def __init__(self, project: Project, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.project = project
        self.fields["name"].help_text = f"Type “{project.name}” to confirm."

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if as_shown(name) != as_shown(self.project.name):
            raise forms.ValidationError("This is not its name. Type it exactly as it is.", code="mismatch")
        return name

    def refuse(self, error: Exception) -> None:
        """Shows what was done nevertheless, and why a service refused the rest."""
        self.add_error(None, " ".join([*getattr(error, "__notes__", ()), str(error)]))


class ControlForm(forms.Form):
    action = forms.ChoiceField(choices=Action.choices)
