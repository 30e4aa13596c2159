"""The common base of the forms for new and for changed projects.

The API's serializers validate the input, so that each rule is written once.
"""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from projects.api.serializers.project_requests import ProjectFieldsSerializer
from projects.dashboard.forms.fields import describe_row, secret_field, text_field
from projects.dashboard.forms.setting_fields import NO_SETTINGS, SettingFields
from projects.errors import InvalidFieldError
from projects.models import AgentType, plans_offered_to
from projects.rules.permissions import Egress
from projects.rules.settings.berth_settings import OWN_SETTINGS

SECRETS = {"telegramToken": "telegram_token", "apiKey": "api_key"}
"""The names of the credentials in the API and in the forms."""

EGRESS = [(Egress.INTERNET.value, "As its type says"), (Egress.GATEWAY.value, "The gateway alone")]

PASTE_AGAIN = "Paste it again: no page ever repeats a credential."


class ProjectForm(forms.Form):
    """The fields and checks of both forms. `serializer` is set when the form is cleaned.

    Settings that the type's schema does not name can only be set by the API, and are kept.
    """

    serializer: ProjectFieldsSerializer
    loses_secrets = True
    """Whether the page is rendered again after an error, with empty fields for the credentials."""

    name = text_field("What you call it. Chats never see it.", autocomplete="off", required=True)
    plan = forms.ChoiceField(help_text="Ask the staff for more projects or another plan.")
    telegram_token = secret_field("Bot token", "From @BotFather, such as 123456789:AAE…")
    api_key = secret_field(
        "API key",
        "Of Anthropic, OpenRouter, OpenAI or a provider that staff added; Berth recognises which by the key.",
    )
    egress = forms.ChoiceField(
        label="What it reaches",
        choices=EGRESS,
        required=False,
        help_text="With only the gateway, it reaches Telegram, its provider, and hosts that staff allow its type.",
    )

    def __init__(self, owner: User, data: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.owner = owner
        self.settings = SettingFields(NO_SETTINGS, {}, taken=self.fields)
        plan = cast(forms.ChoiceField, self.fields["plan"])
        plan.choices = [(row.slug, describe_row(row)) for row in plans_offered_to(owner)]

    def add_setting_fields(self, agent_type: AgentType | None, stored: Mapping[str, Any]) -> None:
        """Adds a field for each setting of the type."""
        schema = agent_type.offered_schema if agent_type else NO_SETTINGS
        self.settings = SettingFields(schema, stored, taken=self.fields)
        self.fields.update(self.settings.make_fields())
        self.initial = {**self.initial, **self.settings.initial()}

    @property
    def main_settings(self) -> list[forms.BoundField]:
        """The fields of settings that nearly everyone sets, and of required ones."""
        return [self[name] for name in self.settings.main_fields]

    @property
    def more_settings(self) -> list[forms.BoundField]:
        return [self[name] for name in self.settings.by_field if name not in self.settings.main_fields]

    @property
    def shows_more(self) -> bool:
        """Whether one of the other settings is set or has an error."""
        return any(field.value() or field.errors for field in self.more_settings)

    @property
    def agent_type(self) -> AgentType | None:
        raise NotImplementedError

    def find_unreadable_settings(self) -> dict[str, str]:
        """Returns sentences by field about settings that cannot be sent."""
        return self.settings.find_unreadable(self.typed())

    def make_serializer(self) -> ProjectFieldsSerializer:
        raise NotImplementedError

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        unreadable = self.find_unreadable_settings()
        for name, fault in unreadable.items():
            self.add_error(name, fault)
        already = set(self.errors)
        self.serializer = self.make_serializer()
        if not self.serializer.is_valid():
            for path, messages in self.serializer.errors.items():
                field, sentence = self._place(path)
                if path == "settings" and unreadable:  # the fields themselves show what is missing
                    continue
                for message in messages if field not in already else ():
                    self.add_error(field, sentence or message)
        return self.cleaned_data

    def add_error(self, field: str | None, error: Any) -> None:
        """Adds the error, and asks for the credentials again, because a page never repeats one."""
        super().add_error(field, error)
        for secret in self._find_unrepeated() if self.loses_secrets else ():
            self[secret].help_text = PASTE_AGAIN

    @property
    def lost_secrets(self) -> list[str]:
        """The labels of the credentials that must be pasted again."""
        is_lost = self.errors and self.loses_secrets
        return [str(self[secret].label) for secret in self._find_unrepeated()] if is_lost else []

    def _find_unrepeated(self) -> list[str]:
        """Returns the fields whose text the page does not repeat."""
        sent = [secret for secret in SECRETS.values() if self.data.get(secret)]
        return sent + self.settings.find_unrepeated(self.typed())

    def refuse(self, error: Exception) -> None:
        """Shows why a service refused, next to the field or above all fields."""
        field = self._place(error.field)[0] if isinstance(error, InvalidFieldError) else None
        self.add_error(field, str(error))

    @sensitive_variables()
    def secrets_sent(self) -> dict[str, str]:
        return {wire: value for wire, name in SECRETS.items() if (value := self.cleaned_data.get(name))}

    def settings_patch(self) -> dict[str, Any]:
        """Returns the form's changes to the stored settings as a merge patch."""
        return self.settings.patch(self.typed())

    def typed(self) -> dict[str, str]:
        """Returns the sent texts of settings by field."""
        return {name: str(self.data[name]) for name in self.settings.by_field if name in self.data}

    def _place(self, path: str) -> tuple[str | None, str]:
        """Returns the form's field for an error of the API, and a sentence if the error is about an entry of a list."""
        first, _, rest = path.partition(".")
        name, _, position = rest.partition(".")
        if first == "settings" and (found := self.settings.find_field(name)):
            return found, self._of_entry(name, int(position) + 1) if position.isdecimal() else ""
        field = SECRETS.get(path, path)
        return (field, "") if field in self.fields else (None, f"{path} does not fit." if rest else "")

    def _of_entry(self, setting: str, number: int) -> str:
        schema: Any = self.agent_type.settings_schema if self.agent_type else {}
        for step in ("properties", setting, "description"):  # any of them may be `true`, which is a schema too
            schema = schema.get(step, "") if isinstance(schema, Mapping) else ""
        description = schema or OWN_SETTINGS["properties"].get(setting, {}).get("description", "")
        return f"Entry {number} does not fit. {description}".strip()
