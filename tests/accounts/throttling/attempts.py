"""Whether a password may still be tried."""

from accounts.errors import TooManyAttemptsError
from accounts.throttling.login_attempts import check_limit


def is_open(address: str | None, email: str = "alice@example.com") -> bool:
    """Uses up one attempt if there is one."""
    try:
        check_limit(email=email, address=address)
    except TooManyAttemptsError:
        return False
    return True
