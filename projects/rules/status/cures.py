"""Decides whether new credentials remove the reason why an agent ended. Pure."""

from containers.agent_contract import ProblemCode

OF_TOKEN = frozenset({ProblemCode.TELEGRAM_TOKEN, ProblemCode.TELEGRAM_CONFLICT, ProblemCode.MISSING_SECRET})
OF_KEY = frozenset({ProblemCode.PROVIDER_KEY, ProblemCode.PROVIDER_CREDIT, ProblemCode.MISSING_SECRET})


def is_cured(code: str, *, with_token: bool, with_key: bool) -> bool:
    """Returns whether another start may help now that there is a new token or key. `code` is the status's reason."""
    return (with_token and code in OF_TOKEN) or (with_key and code in OF_KEY)
