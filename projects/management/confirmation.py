"""Asks the operator to confirm a command that cannot be undone."""

import sys

NO_ANSWER = "There is no answer, because the input has ended. Nothing was done. --yes does it without asking."


def confirms(word: str, purpose: str) -> bool:
    """Returns whether the operator types this word. Returns False if there is no input, and says so."""
    try:
        return input(f"Type {word} {purpose}: ").strip() == word
    except EOFError:
        sys.stdout.write(f"\n{NO_ANSWER}\n")
        return False
