"""Tokens for the page that describes the API: API keys valid for ten minutes, which end with the user's sessions.

/api accepts no cookie, so that page needs a token like every other caller. The signed-in page creates it.
"""

from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.views.decorators.debug import sensitive_variables

from accounts import audit, clock
from accounts.credentials.api_keys import digest_key, hint_key, make_key
from accounts.models import ApiKey, Scope, User
from accounts.services.still_signed_in import SignedInBy, lock_if_still_signed_in

LIFETIME = timedelta(minutes=10)
NAME = "Trying out the API"


@sensitive_variables("key")
def issue_page_token(*, user: User, session: SignedInBy) -> tuple[ApiKey, str]:
    """Returns the row and the token, which is not stored. Replaces the user's earlier one.

    The token may do what a session may, except manage keys and sessions. Raises InvalidTokenError if `session` has
    ended.
    """
    key, now = make_key(), clock.now()
    with transaction.atomic():
        locked = lock_if_still_signed_in(user, session)
        _page_tokens(user).delete()
        row = ApiKey.objects.create(
            user=user,
            name=NAME,
            scope=Scope.WRITE,
            digest=digest_key(key),
            hint=hint_key(key),
            created_at=now,
            expires_at=now + LIFETIME,
            session_version=locked.session_version,
        )
    audit.record("page_token_issued", user=user.pk, key=row.pk)
    return row, key


def end_page_tokens(*, user: User) -> None:
    """Ends the tokens of the user's pages, when the user signs out there."""
    if _page_tokens(user).delete()[0]:
        audit.record("page_token_ended", user=user.pk)


def _page_tokens(user: User) -> "QuerySet[ApiKey]":
    return ApiKey.objects.filter(user=user).exclude(session_version=None)
