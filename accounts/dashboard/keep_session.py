"""Keeps the session of a request that ends all sessions of its user."""

from django.contrib.auth import update_session_auth_hash

from accounts.http import SignedInRequest
from accounts.services.open_sessions import note_renewal


def keep_session(request: SignedInRequest) -> None:
    """To be called when the user's new `session_version` is written, and is that of `request.user`."""
    update_session_auth_hash(request, request.user)
    note_renewal(user=request.user, session=request.session)
