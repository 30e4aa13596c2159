"""The people of all tests: Alice owns, Bob is the stranger, Sam is staff, Ada is an admin.

Everyone's password is `tests.canaries.CANARY_PASSWORD`. This module needs no Django.
"""

PEOPLE: dict[str, dict[str, bool]] = {"alice": {}, "bob": {}, "sam": {"staff": True}, "ada": {"admin": True}}
"""The traits of `tests.factories.UserFactory` by the name of the person."""


def email_of(name: str) -> str:
    return f"{name}@example.com"
