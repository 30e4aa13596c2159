"""The forms of the second factor: its code at sign-in, and password and code before it is changed."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.dashboard.forms.account import password_field
from accounts.dashboard.session.pending_sign_in import find_user
from accounts.emails import LONGEST_EMAIL, clean_own_email
from accounts.errors import InvalidCredentialsError, SecondFactorUnreadableError, TooManyAttemptsError, WrongCodeError
from accounts.http import client_address
from accounts.models import User
from accounts.services.second_factor import check_second_factor, has_second_factor
from accounts.services.sign_in import authenticate


class PassingCodeInput(forms.TextInput):
    """A field that is shown empty after an error: the refused code is useless, and the next one would be appended to
    it.
    """

    def format_value(self, value: Any) -> None:  # noqa: ARG002 - Django's signature
        return None


def code_field(label: str = "Code", *, help_text: str, digits_only: bool = False) -> forms.CharField:
    attributes = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
    widget: type[forms.TextInput] = forms.TextInput
    if digits_only:
        attributes["inputmode"] = "numeric"
        widget = PassingCodeInput
    return forms.CharField(
        label=label, max_length=64, help_text=help_text, widget=widget(attrs={"class": "code", **attributes})
    )


class SignInCodeForm(forms.Form):
    """The second page of the sign-in. After `is_valid()`, `retry_after` is set if there were too many attempts."""

    code = code_field(help_text="The six digits that your authenticator app shows now.", digits_only=True)

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs["autofocus"] = True
        self.address = client_address(request)
        self.user = find_user(request)
        self.retry_after: int | None = None

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if self.user is None:
            raise ValidationError("That took too long. Sign in again.", code="expired")
        try:
            check_second_factor(user=self.user, code=code, address=self.address)
        except TooManyAttemptsError as error:
            self.retry_after = error.retry_after
            raise ValidationError(str(error), code="throttled") from None
        except (WrongCodeError, SecondFactorUnreadableError) as error:
            raise ValidationError(str(error), code="wrong") from None
        return code

    def get_user(self) -> User | None:
        return self.user


class RecoveryCodeForm(SignInCodeForm):
    """The same page for users without the app at hand. A phone shows its full keyboard."""

    code = code_field("Recovery code", help_text="One of the codes you saved. Each works once.")


class PasswordAgainForm(forms.Form):
    password = password_field("Your password", autocomplete="current-password")

    def __init__(self, user: User, address: str | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.address = address

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        try:
            authenticate(email=self.user.email, password=password, address=self.address)
        except InvalidCredentialsError:
            raise ValidationError("This is not your password.", code="wrong") from None
        except TooManyAttemptsError as error:
            raise ValidationError(str(error), code="throttled") from None
        return password


class PasswordAndCodeForm(PasswordAgainForm):
    code = code_field(help_text="From your authenticator app, or a recovery code.")

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if "password" in self.cleaned_data:  # a wrong password must not use up a code
            try:
                check_second_factor(user=self.user, code=code, address=self.address)
            except (WrongCodeError, SecondFactorUnreadableError, TooManyAttemptsError) as error:
                raise ValidationError(str(error), code="wrong") from None
        return code


class PasswordAndAnyCodeForm(PasswordAndCodeForm):
    """Asks for the code only if the user has a second factor."""

    def __init__(self, user: User, address: str | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, address, *args, **kwargs)
        if not has_second_factor(user):
            del self.fields["code"]


class NewEmailForm(PasswordAndAnyCodeForm):
    email = forms.CharField(
        label="New email",
        max_length=LONGEST_EMAIL,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autocapitalize": "none"}),
    )
    field_order = ("email", "password", "code")

    def clean_email(self) -> str:
        email = clean_own_email(self.cleaned_data["email"])
        if email == self.user.email:
            raise ValidationError("This is your email already.", code="same")
        return email

    def clean_password(self) -> str:
        """Uses up no attempt and no code if the address cannot be used anyway."""
        return super().clean_password() if "email" in self.cleaned_data else ""

    def clean_code(self) -> str:
        return super().clean_code() if "email" in self.cleaned_data else ""


class FirstCodeForm(forms.Form):
    """The code that proves that the app knows the secret."""

    code = code_field(help_text="The six digits that the app shows now.", digits_only=True)
