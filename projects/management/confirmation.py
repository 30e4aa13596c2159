"""Asks the operator to confirm a command that cannot be undone."""


def confirms(word: str, purpose: str) -> bool:
    """Returns whether the operator types this word. Returns False if there is no input."""
    try:
        return input(f"Type {word} {purpose}: ").strip() == word
    except EOFError:
        return False
