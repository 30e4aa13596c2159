"""The request of the API that does what a page of the dashboard does, as a curl command."""

from typing import Any

from django import template
from django.conf import settings

from config.api_docs.examples import make_request
from config.api_docs.samples import Call, write_curl

register = template.Library()

_PROJECT = "/api/projects/{project_id}"
CALLS: dict[str, tuple[str, str, Any]] = {
    "projects:list": ("GET", "/api/projects?sort=status", None),
    "projects:new": ("POST", "/api/projects", make_request("NewProjectRequest") | {"name": "My agent"}),
    "projects:show": ("GET", _PROJECT, None),
    "projects:change": ("PATCH", _PROJECT, {"name": "Another name"}),
    "projects:usage": ("GET", f"{_PROJECT}/usage", None),
    "projects:budget": ("PATCH", _PROJECT, {"budget": {"day_tokens": 200000}}),
    "projects:pairing": ("POST", f"{_PROJECT}/pairing", make_request("PairingRequest")),
    "projects:memory": ("DELETE", f"{_PROJECT}/memory", None),
    "projects:delete": ("DELETE", _PROJECT, None),
    "projects:bulk": ("POST", "/api/projects/control", make_request("BulkControlRequest")),
    "accounts:settings": ("GET", "/api/me", None),
    "accounts:make-key": ("POST", "/api/auth/keys", make_request("NewKeyRequest")),
    "accounts:revoke-key": ("DELETE", "/api/auth/keys/{key_id}", None),
    "accounts:rotate-key": ("POST", "/api/auth/keys/{key_id}/rotate", None),
    "accounts:sign-in": ("POST", "/api/auth/login", make_request("LoginRequest")),
    "admin:projects_plan_changelist": ("GET", "/api/plans", None),
    "admin:projects_agenttype_changelist": ("GET", "/api/types", None),
}
"""By the name of a page."""

PUBLIC = {"accounts:sign-in"}
"""Of those, what takes no token."""

_PERSON = "no token may change how you sign in, or who you are"
REASONS = {
    "accounts:change-email": _PERSON,
    "accounts:change-password": _PERSON,
    "accounts:confirm-email": _PERSON,
    "accounts:profile": _PERSON,
    "accounts:recovery-codes": _PERSON,
    "accounts:second-factor": _PERSON,
    "accounts:second-factor-confirm": _PERSON,
    "accounts:second-factor-off": _PERSON,
    "accounts:set-password": _PERSON,
    "accounts:sign-in-code": "the code goes along with the password there",
    "accounts:sign-up": "an account begins with a mail, in a browser",
    "projects:alerts": "where you are told of trouble is nothing that a program should change unseen",
    "projects:change-alerts": "where you are told of trouble is nothing that a program should change unseen",
    "projects:delete-account": _PERSON,
    "projects:export": "all that is kept of you is for you alone, who has signed in",
}
"""The other pages of people, and why the API does not do the same."""

_STAFF = "a token acts for its owner alone, also one of the staff, so that nobody gets in here with a lost one"


@register.simple_tag(takes_context=True)
def api_call(context: dict[str, Any]) -> str:
    """Empty where there is none, and for what takes a token where nobody is signed in."""
    match = getattr(context.get("request"), "resolver_match", None)
    is_public = match is not None and match.view_name in PUBLIC
    if match is None or match.view_name not in CALLS or not (is_public or _is_signed_in(context)):
        return ""
    method, path, body = CALLS[match.view_name]
    address = settings.BERTH_PUBLIC_URL + path.format(**match.kwargs)
    return write_curl(Call(method, address, takes_token=not is_public, body=body))


@register.simple_tag(takes_context=True)
def reason_without_call(context: dict[str, Any]) -> str:
    """Why the API does not do what this page does; empty where it does, and where nobody is signed in."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None or not _is_signed_in(context):
        return ""
    return _STAFF if "admin" in match.app_names else REASONS.get(match.view_name, "")


def _is_signed_in(context: dict[str, Any]) -> bool:
    return bool(getattr(context.get("user"), "is_authenticated", False))
