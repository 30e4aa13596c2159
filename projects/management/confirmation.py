"""Asks the operator before a command does what cannot be undone."""


def confirms(word: str, purpose: str) -> bool:
    """Whether this word is typed. Where nobody can type anything, it is not."""
    try:
        return input(f"Type {word} {purpose}: ").strip() == word
    except EOFError:
        return False
