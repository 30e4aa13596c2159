"""The forms of the projects' pages. What is right and wrong the API's serializers say, so that the rules exist once."""

import uuid
from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.views.decorators.debug import sensitive_variables
from rest_framework.exceptions import ValidationError

from projects.agent_settings import check_settings
from projects.errors import IdempotencyMismatchError, InvalidFieldError, OperationInProgressError
from projects.form_fields import choices_of, describe_offer, read_setting, secret_field, text_field, text_of
from projects.lifecycle import Action
from projects.models import AgentType, Plan, Project
from projects.serializers import NewProjectSerializer, ProjectChangeSerializer, ProjectFieldsSerializer
from projects.services import NewProject, ProjectChange

SETTINGS = ("model", "instructions", "allowed_users")
"""The settings that the pages offer. Others, which only the API sets, are kept as they are."""

SECRETS = {"telegramToken": "telegram_token", "apiKey": "api_key"}
"""Names on the wire, and here."""

PASTE_AGAIN = "Paste it again: no page ever repeats a credential."
PEOPLE_SAY = {
    OperationInProgressError: "This form was sent a moment ago, and its deploy is under way. Look at your projects.",
    IdempotencyMismatchError: "This form has deployed a project already. Check what it says now, then deploy again.",
}
"""In place of sentences about a header of the API."""


class ProjectForm(forms.Form):
    """What making and changing a project have in common. `rules` judges, once the form is cleaned."""

    rules: ProjectFieldsSerializer

    name = text_field("What you call it. Only you see it.", autocomplete="off", required=True)
    plan = forms.ChoiceField(choices=choices_of(lambda: Plan.objects.filter(available=True)))
    telegram_token = secret_field("Bot token", "From @BotFather, such as 123456789:AAE…")
    api_key = secret_field("API key", "Of Anthropic, OpenRouter or OpenAI; which of them is told from the key.")
    model = text_field("As its provider spells it. Empty: the agent's own choice.", autocomplete="off")
    instructions = text_field("How it is to behave, in your own words.", rows=5)
    allowed_users = text_field(
        "Telegram user ids or @usernames, one on each line. Empty: it answers everybody, at your expense.",
        rows=3,
        autocomplete="off",
        spellcheck="false",
    )

    @property
    def agent_type(self) -> AgentType | None:
        raise NotImplementedError

    def make_rules(self) -> ProjectFieldsSerializer:
        raise NotImplementedError

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        already = set(self.errors)
        self.rules = self.make_rules()
        if not self.rules.is_valid():
            for path, messages in {**self._settings_errors(), **self.rules.errors}.items():
                field, prefix = self._place(path)
                for message in messages if field not in already else ():
                    self.add_error(field, f"{prefix}{message}")
        return self.cleaned_data

    def add_error(self, field: str | None, error: Any) -> None:
        """A page never repeats a credential, so with the first error both have to be pasted again."""
        super().add_error(field, error)
        for secret in SECRETS.values():
            if self.data.get(secret):
                self[secret].help_text = PASTE_AGAIN

    @property
    def lost_secrets(self) -> list[str]:
        """What was sent and has to be sent again."""
        return [str(self[secret].label) for secret in SECRETS.values() if self.errors and self.data.get(secret)]

    def refuse(self, error: Exception) -> None:
        """Say beside its field, or above them all, why a service refused."""
        field = SECRETS.get(error.field) if isinstance(error, InvalidFieldError) else None
        self.add_error(field, str(error))

    @sensitive_variables()
    def secrets_sent(self) -> dict[str, str]:
        return {wire: value for wire, name in SECRETS.items() if (value := self.cleaned_data.get(name))}

    def settings_over(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The stored settings with what was typed; one that was not touched keeps its value, of whatever type."""
        settings = dict(stored)
        for name in SETTINGS:
            typed = read_setting(name, self.cleaned_data.get(name, ""))
            if typed != read_setting(name, text_of(stored.get(name))):
                settings.pop(name, None)
                settings |= {name: typed} if typed else {}
        return settings

    def _settings_errors(self) -> dict[str, Any]:
        """The rules look at the settings when all else is right; who has to paste credentials again wants to hear of
        everything at once.
        """
        settings = self.rules.initial_data.get("settings")
        if self.agent_type is None or settings is None:
            return {}
        try:
            check_settings(self.agent_type, settings)
        except ValidationError as error:
            return cast(dict[str, Any], error.detail)
        return {}

    def _place(self, path: str) -> tuple[str | None, str]:
        """The field that an error of the API belongs to, and what to put before its sentence."""
        first, _, rest = path.partition(".")
        name, _, position = rest.partition(".")
        if first == "settings" and name in SETTINGS:
            return name, f"Entry {int(position) + 1}: " if position.isdecimal() else ""
        field = SECRETS.get(path, path)
        return (field, "") if field in self.fields else (None, f"{path}: " if rest else "")


class NewProjectForm(ProjectForm):
    """`id` is drawn with the form, so that a form sent twice deploys one project."""

    rules: NewProjectSerializer
    field_order = ["id", "name", "type", "plan"]

    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)
    type = forms.ChoiceField(choices=choices_of(lambda: AgentType.objects.filter(available=True)))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        types = AgentType.objects.filter(available=True)
        self.initial = {
            "type": types.filter(is_default=True).first(),
            "plan": Plan.objects.filter(available=True, is_default=True).first(),
        }
        # The browser's own check spares pasting again; which type needs what is the rules' business.
        needed = types.values_list("needs_telegram_token", "needs_api_key")
        for secret, by_all in zip(SECRETS.values(), map(all, zip(*needed, strict=True)), strict=False):
            self.fields[secret].widget.attrs["required"] = by_all

    @property
    def agent_type(self) -> AgentType | None:
        return AgentType.objects.filter(available=True, slug=self.cleaned_data.get("type")).first()

    @sensitive_variables()
    def make_rules(self) -> NewProjectSerializer:
        chosen = {name: self.cleaned_data[name] for name in ("type", "plan") if name in self.cleaned_data}
        name = {"name": self.cleaned_data.get("name", "")}
        return NewProjectSerializer(data={**name, **chosen, **self.secrets_sent(), "settings": self.settings_over({})})

    def to_wanted(self, project_id: uuid.UUID) -> NewProject:
        """Looks outside. Raises `InvalidFieldError`."""
        return self.rules.to_wanted(project_id)

    def refuse(self, error: Exception) -> None:
        if isinstance(error, IdempotencyMismatchError):
            self.data = {**self.data.dict(), "id": str(uuid.uuid4())}  # type: ignore[attr-defined]  # a QueryDict
        if sentence := PEOPLE_SAY.get(type(error)):
            self.add_error(None, sentence)
        else:
            super().refuse(error)


class ChangeProjectForm(ProjectForm):
    rules: ProjectChangeSerializer

    restart = forms.BooleanField(
        label="Restart now",
        required=False,
        help_text="Otherwise the change reaches the agent at its next start.",
    )

    def __init__(self, project: Project, data: Mapping[str, Any] | None = None) -> None:
        stored = {name: text_of(project.settings.get(name)) for name in SETTINGS}
        initial = {"name": project.name, "plan": project.plan_id, **stored}
        super().__init__(data, initial=initial)
        self.project = project
        plan = cast(forms.ChoiceField, self.fields["plan"])
        if project.plan not in Plan.objects.filter(available=True):
            plan.choices = [(project.plan.slug, describe_offer(project.plan)), *cast(list[Any], plan.choices)]
        for secret, label in (("telegram_token", "New bot token"), ("api_key", "New API key")):
            hint = getattr(project, f"{secret}_hint")
            stored_one = f"Stored: …{hint}. " if hint else ""
            self.fields[secret].label = label
            self.fields[secret].help_text = f"{stored_one}Leave it empty to keep the one it has."

    @property
    def agent_type(self) -> AgentType:
        return self.project.agent_type

    @sensitive_variables()
    def make_rules(self) -> ProjectChangeSerializer:
        """Only what differs is sent: what stays as it is need not fit what the staff offer by now."""
        sent = {"name": self.cleaned_data.get("name", ""), "plan": self.cleaned_data.get("plan", self.project.plan_id)}
        sent["settings"] = self.settings_over(self.project.settings)
        stored = {"name": self.project.name, "plan": self.project.plan_id, "settings": self.project.settings}
        changed = {name: value for name, value in sent.items() if value != stored[name]}
        return ProjectChangeSerializer(self.project, data={**changed, **self.secrets_sent()})

    @property
    def changes_something(self) -> bool:
        return bool(self.rules.validated_data)

    def to_change(self) -> ProjectChange:
        """Looks outside where a credential changes. Raises `InvalidFieldError`."""
        return self.rules.to_change()


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
