"""The forms of signing in and up, passwords, profiles and API keys."""

import uuid
from typing import Any

from django import forms
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from accounts.credentials.passwords import LONGEST_PASSWORD
from accounts.emails import LONGEST_EMAIL, clean_own_email
from accounts.errors import InvalidCredentialsError, TooManyAttemptsError
from accounts.http import client_address
from accounts.models import Scope, User
from accounts.services.api_keys import DEFAULT_LIFETIME, LIFETIMES
from accounts.services.set_password_links import use_set_password_link
from accounts.services.sign_in import authenticate, change_password
from accounts.text import check_hides_nothing


def password_field(label: str, *, autocomplete: str, help_text: str = "") -> forms.CharField:
    """Returns a field that does not strip spaces at the ends, because they belong to the password."""
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, strip=False, max_length=LONGEST_PASSWORD, widget=widget, help_text=help_text)


class SignInForm(forms.Form):
    """After `is_valid()`, `retry_after` is set if there were too many attempts."""

    email = forms.CharField(
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True, "autocapitalize": "none"}),
    )
    password = password_field("Password", autocomplete="current-password")

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = client_address(request)
        self.user: User | None = None
        self.retry_after: int | None = None

    def clean(self) -> dict[str, Any]:
        if {"email", "password"} <= self.cleaned_data.keys():
            try:
                self.user = authenticate(**self.cleaned_data, address=self.address)
            except TooManyAttemptsError as error:
                self.retry_after = error.retry_after
                self.add_error(None, str(error))
            except InvalidCredentialsError as error:
                self.add_error(None, str(error))
        return self.cleaned_data

    def get_user(self) -> User | None:
        return self.user


class SignUpForm(forms.Form):
    email = forms.CharField(
        max_length=LONGEST_EMAIL,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True, "autocapitalize": "none"}),
    )

    def clean_email(self) -> str:
        return clean_own_email(self.cleaned_data["email"])


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # generic for the type checker only
    """The form behind a set-password link."""

    new_password1 = password_field("New password", autocomplete="new-password", help_text="At least 12 characters.")
    new_password2 = password_field("The same again", autocomplete="new-password")

    def validate_password_for_user(self, user: Any, *_field: Any) -> None:
        """Shows errors of the password next to the first of the two fields."""
        super().validate_password_for_user(user, "new_password1")

    def save(self, commit: bool = True) -> User:  # noqa: FBT001, FBT002, ARG002 - Django's signature
        """Raises LinkNotValidError if since the form was validated the link was used or the user changed."""
        user: User = self.user
        use_set_password_link(user=user, password=self.cleaned_data["new_password1"])
        return user


class ProfileForm(forms.Form):
    name = forms.CharField(
        max_length=64,
        required=False,
        validators=[check_hides_nothing],
        help_text="The pages address you by this name. Without one they show your email.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data, initial={"name": user.name}, auto_id="profile_%s")


class ChangePasswordForm(forms.Form):
    current = password_field("Current password", autocomplete="current-password")
    new = password_field("New password", autocomplete="new-password", help_text="At least 12 characters.")
    again = password_field("The same again", autocomplete="new-password")

    def __init__(self, user: User, address: str | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.address = address

    def clean_new(self) -> str:
        password: str = self.cleaned_data["new"]
        validate_password(password, self.user)
        return password

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("again") != self.cleaned_data.get("new") and "new" in self.cleaned_data:
            self.add_error("again", "The two new passwords differ. Type them again.")
        return self.cleaned_data

    def save(self, session: SessionBase) -> bool:
        """Changes the password. Returns False, and adds an error, if the current one is wrong.

        Raises InvalidTokenError if `session` has ended meanwhile.
        """
        try:
            change_password(
                user=self.user,
                session=session,
                current=self.cleaned_data["current"],
                new=self.cleaned_data["new"],
                address=self.address,
            )
        except InvalidCredentialsError:
            self.add_error("current", "This is not your current password.")
        except TooManyAttemptsError as error:
            self.add_error("current", str(error))
        return self.is_valid()


class RotateKeyForm(forms.Form):
    """`id` identifies the form, as in `NewKeyForm`."""

    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)


class NewKeyForm(forms.Form):
    """`id` identifies the form, and is chosen when it is shown, so that a form that is sent twice creates one key."""

    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)
    name = forms.CharField(
        max_length=64,
        validators=[check_hides_nothing],
        help_text="What the key is for, such as “deploy script”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scope = forms.ChoiceField(choices=Scope.choices)
    lifetime = forms.TypedChoiceField(
        label="Expires",
        choices=[(days or "", f"after {days} days" if days else "never") for days in LIFETIMES],
        initial=DEFAULT_LIFETIME,
        coerce=int,
        empty_value=None,
        required=False,
    )
