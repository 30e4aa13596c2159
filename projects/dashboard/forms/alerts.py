"""The forms on the page of alerts."""

from typing import Any, cast

from django import forms

from projects.errors import InvalidFieldError, NoPlaceError
from projects.models import AlertChannel
from projects.rules.alerts import DEFAULT_MAIL_KINDS, STAFF_KINDS, AlertKind, Way
from projects.services.alerts.chat import check_chat


class KindsForm(forms.Form):
    """The kinds of alerts of one channel. Each channel has its own form on the page, so the fields have a prefix."""

    kinds = forms.MultipleChoiceField(
        label="Tell me of", choices=AlertKind.choices, required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, way: Way, channel: AlertChannel | None, data: Any = None, *, is_staff: bool = False) -> None:
        by_default = DEFAULT_MAIL_KINDS if way is Way.MAIL else AlertKind
        super().__init__(data, prefix=way.value, initial={"kinds": list(channel.kinds if channel else by_default)})
        offered = [each for each in AlertKind if is_staff or each not in STAFF_KINDS]
        cast("forms.MultipleChoiceField", self.fields["kinds"]).choices = [(each.value, each.label) for each in offered]

    def refuse(self, error: InvalidFieldError | NoPlaceError) -> None:
        field = error.field if isinstance(error, InvalidFieldError) else None
        self.add_error(field if field in self.fields else None, str(error))


class WebhookForm(KindsForm):
    url = forms.CharField(
        label="Address",
        max_length=2000,
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
        help_text="Begins with https://. It is kept encrypted, and only its server is shown again.",
    )

    def __init__(self, way: Way, channel: AlertChannel | None, data: Any = None, *, is_staff: bool = False) -> None:
        super().__init__(way, channel, data, is_staff=is_staff)
        if channel is not None and channel.target:
            self.fields["url"].required = False
            self.fields["url"].label = "Another address"


class BotForm(KindsForm):
    token = forms.CharField(
        label="Bot token",
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Of a bot of your own that no agent uses. @BotFather makes one.",
    )
    chat = forms.CharField(
        label="Chat",
        max_length=20,
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        help_text="Its number, if you know it.",
    )

    def __init__(self, way: Way, channel: AlertChannel | None, data: Any = None, *, is_staff: bool = False) -> None:
        super().__init__(way, channel, data, is_staff=is_staff)
        if channel is None or not channel.secret_ciphertext:
            del self.fields["chat"]
        else:
            self.fields["token"].required = False
            self.fields["token"].label = "Another bot token"

    def clean_chat(self) -> str:
        """Refuses a wrong number before another bot is stored, which has no chat yet."""
        chat: str = self.cleaned_data["chat"]
        try:
            if chat:
                check_chat(chat)
        except InvalidFieldError as error:
            raise forms.ValidationError(str(error), code=error.code) from None
        return chat


FORMS: dict[Way, type[KindsForm]] = {Way.MAIL: KindsForm, Way.WEBHOOK: WebhookForm, Way.TELEGRAM: BotForm}
