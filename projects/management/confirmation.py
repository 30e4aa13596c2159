"""Asks the operator to confirm a command that cannot be undone."""

import sys

from django.core.management.base import CommandError

NO_ANSWER = "There is no answer, because the input has ended. Nothing was done. --yes does it without asking."
ANOTHER_ANSWER = "The answer is not {}. Nothing was done."


def require_confirmation(word: str, purpose: str) -> None:
    """Raises `CommandError` unless the operator types this word."""
    try:
        answer = input(f"Type {word} {purpose}: ")
    except EOFError:
        sys.stdout.write("\n")  # ends the line of the question
        raise CommandError(NO_ANSWER) from None
    except UnicodeDecodeError:
        answer = ""
    if answer.strip() != word:
        raise CommandError(ANOTHER_ANSWER.format(word))
