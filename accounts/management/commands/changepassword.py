"""Changes a user's password, typed in a terminal or given in two equal lines of standard input."""

import sys
import warnings
from getpass import GetPassWarning, getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.core.management.base import CommandError
from django.views.decorators.debug import sensitive_variables

from accounts.emails import normalise_email
from accounts.models import User

NO_TEXT = "The password is not text in UTF-8. Nothing was changed; run this again with another one."


class Command(changepassword.Command):
    help = "Change a user's password. Without a terminal, it is read twice from standard input."
    requires_current_database = True

    def handle(self, *args: Any, **options: Any) -> str | None:
        email = normalise_email(options["username"] or "")
        if not User.objects.filter(email=email).exists():
            raise CommandError(
                "Nobody has this email address. Give the one with which the user signs in; the admin lists all users."
            )
        return super().handle(*args, **options | {"username": email})

    @sensitive_variables()
    def _get_pass(self, prompt: str = "Password: ") -> str:
        """Returns what is typed. Raises `CommandError` if that is nothing or no text, and `EOFError` at the end of the
        input.
        """
        try:
            password = self._ask(prompt)
        except UnicodeDecodeError:
            raise CommandError(NO_TEXT) from None
        if not password:
            raise CommandError("The password is empty. Nothing was changed; run this again with another one.")
        return password

    def _ask(self, prompt: str) -> str:
        """Python reads from a terminal, also if standard input is none. If there is no terminal at all, it would warn
        that it cannot hide what is typed, and nobody types.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)
            try:
                return getpass(prompt)
            except GetPassWarning:
                line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")
