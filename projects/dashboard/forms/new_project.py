"""The form of a new project."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from projects.api.serializers.project_requests import TOKEN_LENGTH, NewProjectSerializer
from projects.dashboard.content.cards import PlanCard, TypeCard, describe_plans, describe_types
from projects.dashboard.forms.fields import choices_of
from projects.dashboard.forms.shared import SECRETS, ProjectForm
from projects.errors import IdempotencyMismatchError, OperationInProgressError
from projects.models import AgentType, Project, plans_with_room
from projects.rules.permissions import Egress
from projects.services import NewProject

SENTENCES_FOR_FORMS = {
    OperationInProgressError: "This form was sent a moment ago, and its deploy is under way. Look at your projects.",
    IdempotencyMismatchError: "This form has deployed a project already. Check what it says now, then deploy again.",
}
"""Used instead of the errors' own sentences, which are about a header of the API."""

COPY, LONGEST_NAME = " copy", 64
NOT_COPIED = "What the original has here is not copied: this field cannot hold it."

OTHER_TYPE = "You have chosen another type. The form shows its settings now: look at them, then deploy."


WHILE_TYPING = {
    "telegram_token": {
        "hx-trigger": "input changed delay:700ms",
        "hx-target": "#bot-hint",
        "hx-params": "csrfmiddlewaretoken,telegram_token",
    },
    "api_key": {"hx-trigger": "input changed delay:300ms", "hx-target": "#key-hint", "hx-params": "not telegram_token"},
}
"""The htmx attributes of fields whose value is checked while the user types."""


class TokenForm(forms.Form):
    telegram_token = forms.CharField(required=False, max_length=TOKEN_LENGTH)


def _as_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the data with the last value of each field."""
    return {name: data[name] for name in data}


class NewProjectForm(ProjectForm):
    """A form for a new project. Its hidden `id` is created with it, so that a form sent twice deploys one project."""

    serializer: NewProjectSerializer
    field_order = ["id", "name", "type", "plan"]

    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)
    shown_type = forms.CharField(widget=forms.HiddenInput, required=False)
    """The type whose settings the form shows. The user may have chosen another one meanwhile."""
    type = forms.ChoiceField(choices=choices_of(lambda: AgentType.objects.filter(available=True)))

    def __init__(self, owner: User, data: Mapping[str, Any] | None = None, *, type_slug: str = "") -> None:
        super().__init__(owner, data)
        types = AgentType.objects.filter(available=True)
        self.types = list(types)
        chosen = type_slug if data is None else data.get("type")
        named = {row.slug: row for row in self.types}
        self.asked_type = named.get(chosen or "") or next((row for row in self.types if row.is_default), None)
        slug = self.asked_type.slug if self.asked_type else ""
        self.initial = {"type": slug, "shown_type": slug}
        self.plans = list(plans_with_room(owner))
        self.initial["plan"] = self._first_plan()
        if data is not None:
            self._type_seen = data.get("shown_type") or slug
            self.data = {**_as_dict(data), "shown_type": slug}
        self.add_setting_fields(self.asked_type, {})
        # The browser requires credentials that every type needs, because they are lost when the form is sent. The
        # serializer decides what the chosen type needs.
        needed = types.values_list("needs_telegram_token", "needs_api_key")
        for secret, by_all in zip(SECRETS.values(), map(all, zip(*needed, strict=True)), strict=False):
            self.fields[secret].widget.attrs["required"] = by_all
        for secret, address in (("telegram_token", "projects:new-bot"), ("api_key", "projects:new-provider")):
            shared = {"hx-post": reverse(address), "hx-swap": "innerHTML", "hx-sync": "this:replace"}
            self.fields[secret].widget.attrs |= shared | WHILE_TYPING[secret]

    def add_setting_fields(self, agent_type: AgentType | None, stored: Mapping[str, Any]) -> None:
        super().add_setting_fields(agent_type, stored)
        model = self.settings.find_field("model")
        if model and isinstance(self.fields[model].widget, forms.TextInput):
            self.fields[model].widget.attrs["list"] = "models"

    def fill_in_typed(self, typed: Mapping[str, Any]) -> None:
        """Fills in what was typed for another type, if this one has the same settings."""
        names = {"plan", *self.settings.by_field} & set(typed)
        self.initial = {**self.initial, **{name: typed[name] for name in names}}

    def _first_plan(self) -> str:
        """Returns the default plan if it has room, else the smallest one with room."""
        cards = describe_plans(self.plans, chosen="", agent_type=self.asked_type)
        free = [plan for plan, card in zip(self.plans, cards, strict=True) if not card.fault]
        return min(free, key=lambda plan: (not plan.is_default, plan.memory_mb)).slug if free else ""

    @property
    def plan_cards(self) -> list[PlanCard]:
        return describe_plans(self.plans, chosen=str(self["plan"].value() or ""), agent_type=self.asked_type)

    @property
    def type_cards(self) -> list[TypeCard]:
        return describe_types(self.types, chosen=self.asked_type.slug if self.asked_type else "")

    def begin_with(self, original: Project | None) -> None:
        """Fills in the original's values except its credentials, because two agents cannot share a bot."""
        if original is None:
            return
        name = f"{original.name[: LONGEST_NAME - len(COPY)]}{COPY}"
        self.initial = {**self.initial, "name": name, "plan": original.plan_id, "egress": original.own_egress}
        if original.agent_type in self.types:
            for field in self.settings.by_field:
                del self.fields[field]
            self.asked_type = original.agent_type
            self.initial = {**self.initial, "type": original.agent_type_id, "shown_type": original.agent_type_id}
            self.add_setting_fields(original.agent_type, {})
            self._copy_settings(original.settings)

    def _copy_settings(self, stored: Mapping[str, Any]) -> None:
        """Copies the settings, except those that need another field than the form will be read with."""
        for field, setting in self.settings.by_field.items():
            value = None if setting.holds_credentials else stored.get(setting.name)
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
