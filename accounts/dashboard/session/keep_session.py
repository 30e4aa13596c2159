"""Keeps the current session when all sessions of its user end."""

from django.contrib.auth import update_session_auth_hash

from accounts.http import SignedInRequest
from accounts.services.open_sessions import note_renewal


def keep_session(request: SignedInRequest) -> None:
    """Call once the user's new `session_version` is stored and set on `request.user`."""
    update_session_auth_hash(request, request.user)
    note_renewal(user=request.user, session=request.session)
