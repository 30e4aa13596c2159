"""Ids of installations, as the settings name them, for processes that must not read them from their database."""


def ours() -> str:
    return "0123456789abcdef0123456789abcdef"


def theirs() -> str:
    return "fedcba9876543210fedcba9876543210"
