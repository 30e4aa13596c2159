"""What the forms for a new and for a changed project have in common.

What is right and wrong the API's serializers say, so that the rules exist once.
"""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.views.decorators.debug import sensitive_variables
from rest_framework.exceptions import ValidationError

from projects.api.agent_settings import check_settings
from projects.api.serializers import ProjectFieldsSerializer
from projects.dashboard.form_fields import choices_of, read_setting, secret_field, text_field, text_of
from projects.errors import InvalidFieldError
from projects.models import AgentType, Plan

SETTINGS = ("model", "instructions", "allowed_users")
"""The settings that the pages offer. Others, which only the API sets, are kept as they are."""

SECRETS = {"telegramToken": "telegram_token", "apiKey": "api_key"}
"""Names on the wire, and here."""

PASTE_AGAIN = "Paste it again: no page ever repeats a credential."


class ProjectForm(forms.Form):
    """What making and changing a project have in common. `rules` judges, once the form is cleaned."""

    rules: ProjectFieldsSerializer

    name = text_field("What you call it. Chats never see it.", autocomplete="off", required=True)
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
                field, entry = self._place(path)
                for message in messages if field not in already else ():
                    self.add_error(field, entry or message)
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
        """The field that an error of the API belongs to; and for an entry of a list, what to say of it."""
        first, _, rest = path.partition(".")
        name, _, position = rest.partition(".")
        if first == "settings" and name in SETTINGS:
            return name, self._of_entry(name, int(position) + 1) if position.isdecimal() else ""
        field = SECRETS.get(path, path)
        return (field, "") if field in self.fields else (None, f"{path} does not fit." if rest else "")

    def _of_entry(self, setting: str, number: int) -> str:
        schema = self.agent_type.settings_schema if self.agent_type else {}
        wanted = schema.get("properties", {}).get(setting, {}).get("description", "")
        return f"Entry {number} does not fit. {wanted}".strip()
