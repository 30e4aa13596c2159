"""Tokens for the page that describes the API: API keys of ten minutes, which end with the sessions of their user.

/api takes no cookie, so that page needs a token like every other caller. A page that is signed in has it made.
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
    """Returns the row and the token, which is not stored. The user's earlier one is gone: there is one at a time.

    It does what a session does but deal with keys and sessions. Raises InvalidTokenError where `session` has ended.
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
    """Ends the tokens that the user's pages were given, when the user signs out there."""
    if _page_tokens(user).delete()[0]:
        audit.record("page_token_ended", user=user.pk)


def _page_tokens(user: User) -> "QuerySet[ApiKey]":
    return ApiKey.objects.filter(user=user).exclude(session_version=None)
