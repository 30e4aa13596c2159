"""Which new credential is the cure of what an agent has ended by. Pure."""

from containers.agent_contract import ProblemCode

OF_TOKEN = frozenset({ProblemCode.TELEGRAM_TOKEN, ProblemCode.TELEGRAM_CONFLICT, ProblemCode.MISSING_SECRET})
OF_KEY = frozenset({ProblemCode.PROVIDER_KEY, ProblemCode.PROVIDER_CREDIT, ProblemCode.MISSING_SECRET})


def is_cured(code: str, *, with_token: bool, with_key: bool) -> bool:
    """Whether another start may help, now that there is a new token or key. `code` is the reason of the status."""
    return (with_token and code in OF_TOKEN) or (with_key and code in OF_KEY)
