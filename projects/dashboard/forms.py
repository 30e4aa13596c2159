"""The forms of the projects' pages."""

import uuid
from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from projects.api.serializers import NewProjectSerializer, ProjectChangeSerializer
from projects.dashboard.form_fields import choices_of, describe_row, text_field
from projects.dashboard.project_form import SECRETS, ProjectForm
from projects.errors import IdempotencyMismatchError, OperationInProgressError
from projects.models import AgentType, Project, plans_offered_to
from projects.rules.lifecycle import Action
from projects.rules.merge_patch import merge_patch
from projects.rules.permissions import Egress
from projects.services import NewProject, ProjectChange

SENTENCES_FOR_FORMS = {
    OperationInProgressError: "This form was sent a moment ago, and its deploy is under way. Look at your projects.",
    IdempotencyMismatchError: "This form has deployed a project already. Check what it says now, then deploy again.",
}
"""Used in place of the errors' own sentences, which are about a header of the API."""

COPY, LONGEST_NAME = " copy", 64
NOT_COPIED = "What the original has here is not copied: this field cannot hold it."


OTHER_TYPE = "You have chosen another type. The form shows its settings now: look at them, then deploy."


def _as_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    """Of a field that came more than once, the last one counts."""
    return {name: data[name] for name in data}


class NewProjectForm(ProjectForm):
    """A form for a new project. Its hidden `id` is drawn with it, so that a form sent twice deploys one project."""

    serializer: NewProjectSerializer
    field_order = ["id", "name", "type", "plan"]

    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)
    shown_type = forms.CharField(widget=forms.HiddenInput, required=False)
    """The type whose settings the form shows. While it does, another one may be chosen."""
    type = forms.ChoiceField(choices=choices_of(lambda: AgentType.objects.filter(available=True)))

    def __init__(self, owner: User, data: Mapping[str, Any] | None = None, *, type_slug: str = "") -> None:
        super().__init__(owner, data)
        types = AgentType.objects.filter(available=True)
        self.types = list(types)
        chosen = type_slug if data is None else data.get("type")
        named = {row.slug: row for row in self.types}
        self.asked_type = named.get(chosen or "") or next((row for row in self.types if row.is_default), None)
        slug = self.asked_type.slug if self.asked_type else ""
        self.initial = {"type": self.asked_type, "shown_type": slug}
        self.initial["plan"] = plans_offered_to(owner).filter(is_default=True).first()
        if data is not None:
            self._type_seen = data.get("shown_type") or slug
            self.data = {**_as_dict(data), "shown_type": slug}
        self.ask_settings(self.asked_type, {})
        # The browser asks for a credential that every type needs, before it sends the form and both are lost. The
        # serializer decides what the chosen type needs.
        needed = types.values_list("needs_telegram_token", "needs_api_key")
        for secret, by_all in zip(SECRETS.values(), map(all, zip(*needed, strict=True)), strict=False):
            self.fields[secret].widget.attrs["required"] = by_all

    def begin_with(self, original: Project | None) -> None:
        """Fills in what the original has, but for its credentials: two agents cannot share a bot."""
        if original is None:
            return
        name = f"{original.name[: LONGEST_NAME - len(COPY)]}{COPY}"
        self.initial = {**self.initial, "name": name, "plan": original.plan_id, "egress": original.own_egress}
        if original.agent_type in self.types:
            for field in self.settings.by_field:
                del self.fields[field]
            self.asked_type = original.agent_type
            self.initial = {**self.initial, "type": original.agent_type_id, "shown_type": original.agent_type_id}
            self.ask_settings(original.agent_type, {})
            self._copy_settings(original.settings)

    def _copy_settings(self, stored: Mapping[str, Any]) -> None:
        """But for what needs another field than one that the form is read with when it is sent."""
        for field, setting in self.settings.by_field.items():
            value = stored.get(setting.name)
            if setting.for_value(value).kind is setting.kind:
                self.initial[field] = setting.show(value)
            else:
                self.fields[field].help_text = f"{NOT_COPIED} {self.fields[field].help_text}".strip()

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.asked_type and cleaned.get("type") == self.asked_type.slug != self._type_seen:
            self.add_error("type", OTHER_TYPE)
        return cleaned

    @property
    def agent_type(self) -> AgentType | None:
        return AgentType.objects.filter(available=True, slug=self.cleaned_data.get("type")).first()

    @sensitive_variables()
    def make_serializer(self) -> NewProjectSerializer:
        fields: tuple[str, ...] = ("type", "plan")
        chosen = {name: self.cleaned_data[name] for name in fields if name in self.cleaned_data}
        name = {"name": self.cleaned_data.get("name", "")}
        confined = {"egress": Egress.GATEWAY} if self.cleaned_data.get("egress") == Egress.GATEWAY else {}
        data = {**name, **chosen, **confined, **self.secrets_sent(), "settings": self.settings_patch()}
        return NewProjectSerializer(data=data, context={"owner": self.owner})

    def build(self, project_id: uuid.UUID) -> NewProject:
        return self.serializer.build(project_id)

    def refuse(self, error: Exception) -> None:
        if isinstance(error, IdempotencyMismatchError):
            self.data = {**_as_dict(self.data), "id": str(uuid.uuid4())}
        if sentence := SENTENCES_FOR_FORMS.get(type(error)):
            self.add_error(None, sentence)
        else:
            super().refuse(error)


class ChangeProjectForm(ProjectForm):
    serializer: ProjectChangeSerializer

    restart = forms.BooleanField(
        label="Restart now",
        required=False,
        help_text="Otherwise a change counts from the next start on, and behind the gateway a credential at once.",
    )

    def __init__(self, project: Project, data: Mapping[str, Any] | None = None) -> None:
        initial = {"name": project.name, "plan": project.plan_id, "egress": project.own_egress}
        super().__init__(project.owner, data, initial=initial)
        self.project = project
        self.ask_settings(project.agent_type, project.settings)
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

    def settings_after(self, sent: dict[str, Any]) -> dict[str, Any]:
        merged: dict[str, Any] = merge_patch(self.project.settings, sent)
        return merged

    def unread_settings(self) -> dict[str, str]:
        return {**self.settings.unsaid(self.typed()), **super().unread_settings()}

    @sensitive_variables()
    def make_serializer(self) -> ProjectChangeSerializer:
        """Holds only what differs. What stays as it is may be a plan or a setting that is no longer available."""
        sent = {"name": self.cleaned_data.get("name", ""), "plan": self.cleaned_data.get("plan", self.project.plan_id)}
        stored = {"name": self.project.name, "plan": self.project.plan_id, "egress": self.project.own_egress}
        sent["egress"] = self.cleaned_data.get("egress") or stored["egress"]
        changed: dict[str, Any] = {name: value for name, value in sent.items() if value != stored[name]}
        if patch := self.settings_patch():
            changed["settings"] = patch
        return ProjectChangeSerializer(self.project, data={**changed, **self.secrets_sent()})

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
        if name != self.project.name:
            raise forms.ValidationError("This is not its name. Type it exactly as it is.", code="mismatch")
        return name

    def refuse(self, error: Exception) -> None:
        self.add_error(None, str(error))


class ControlForm(forms.Form):
    action = forms.ChoiceField(choices=Action.choices)
