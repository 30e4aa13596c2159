"""Shows on each page the API request that does the same, as a curl command."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import template
from django.conf import settings
from django.http import HttpRequest

from config.api_docs.examples import make_request
from config.api_docs.samples import Call, write_curl
from projects.rules.status.lifecycle import Action

register = template.Library()

_PROJECT = "/api/projects/{project_id}"
CALLS: dict[str, tuple[str, str, Any]] = {
    "projects:list": ("GET", "/api/projects", None),
    "projects:new": ("POST", "/api/projects", make_request("NewProjectRequest") | {"name": "My agent"}),
    "projects:show": ("GET", _PROJECT, None),
    "projects:change": ("PATCH", _PROJECT, {"name": "Another name"}),
    "projects:usage": ("GET", f"{_PROJECT}/usage", None),
    "projects:budget": ("PATCH", _PROJECT, {"budget": {"day_tokens": 200000}}),
    "projects:pairing": ("POST", f"{_PROJECT}/pairing", make_request("PairingRequest")),
    "projects:memory": ("DELETE", f"{_PROJECT}/memory", None),
    "projects:delete": ("DELETE", _PROJECT, None),
    "accounts:settings": ("GET", "/api/me", None),
    "accounts:make-key": ("POST", "/api/auth/keys", make_request("NewKeyRequest")),
    "accounts:revoke-key": ("DELETE", "/api/auth/keys/{key_id}", None),
    "accounts:rotate-key": ("POST", "/api/auth/keys/{key_id}/rotate", None),
    "accounts:sign-in": ("POST", "/api/auth/login", make_request("LoginRequest")),
    "admin:projects_plan_changelist": ("GET", "/api/plans", None),
    "admin:projects_agenttype_changelist": ("GET", "/api/types", None),
}
"""Method, path and body by the name of the page."""

LIST = "projects:list"
"""The page of the list. Its request has the filters and the order of the page, without its pagination."""

SORTS = {"trouble": "status", "newest": "-created_at", "oldest": "created_at", "name": "name"}
"""The API's sort parameter by the page's."""

MANY = "projects:bulk"
"""The page that commands several projects. Its request contains the chosen ones."""

MOST_AT_ONCE, MOST_CHOSEN = 50, 200
"""Maximum projects in one request of the API, and in one form of that page. Importing the numbers would slow each
command of `manage.py` down by a quarter of a second."""

DELETE = "delete"
"""The page can also delete. In the API this is one request per project, which curl makes from the braces."""

PUBLIC = {"accounts:sign-in"}
"""Pages whose request needs no token."""

OF_A_SESSION = {"accounts:make-key", "accounts:revoke-key", "accounts:rotate-key"}
"""Pages whose request needs the token of a session, and accepts no key."""

_PERSON = "a token cannot change how you sign in or who you are"
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
    "accounts:sign-in-code": "the API takes the code together with the password",
    "accounts:sign-up": "an account is created in a browser, with a mail",
    "projects:alerts": "a program should not change unnoticed where you get your alerts",
    "projects:change-alerts": "a program should not change unnoticed where you get your alerts",
    "projects:delete-account": _PERSON,
    "projects:export": "the export of your data is only for you, signed in",
}
"""The other pages of users, and why the API does not do the same."""

_STAFF = "a token acts only for its owner, even a token of staff, so that a lost one does not open the admin"


@register.simple_tag(takes_context=True)
def api_call(context: dict[str, Any]) -> str:
    """Returns the command; empty if there is none, or if it needs a token and nobody is signed in."""
    request = context.get("request")
    name = _name_of(request)
    is_public = name in PUBLIC
    if request is None or not (is_public or _is_signed_in(context)):
        return ""
    found = _find_call_to_many(request) if name == MANY else CALLS.get(name)
    if found is None:
        return ""
    method, path, body = found
    if name == LIST:
        path = f"{path}?{_write_query(context['list'].query)}"
    elif name != MANY:
        path = path.format(**request.resolver_match.kwargs)
    return write_curl(Call(method, settings.BERTH_PUBLIC_URL + path, takes_token=not is_public, body=body))


@register.simple_tag(takes_context=True)
def left_out_of_call(context: dict[str, Any]) -> dict[str, int]:
    """Returns how many projects the request names and how many were chosen. Empty if it names all of them."""
    request = context.get("request")
    if request is None or _name_of(request) != MANY or request.POST.get("action") == DELETE:
        return {}
    chosen = len(_chosen_in(request))
    return {"named": MOST_AT_ONCE, "chosen": chosen} if chosen > MOST_AT_ONCE else {}


@register.simple_tag(takes_context=True)
def token_of_call(context: dict[str, Any]) -> str:
    """Returns which token the request needs: `key` or `session`, or an empty string for none."""
    name = _name_of(context.get("request"))
    return "" if name in PUBLIC else "session" if name in OF_A_SESSION else "key"


@register.simple_tag(takes_context=True)
def reason_without_call(context: dict[str, Any]) -> str:
    """Returns why the API cannot do what this page does. Empty if it can, or if nobody is signed in."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None or not _is_signed_in(context):
        return ""
    return _STAFF if "admin" in match.app_names else REASONS.get(match.view_name, "")


def _name_of(request: HttpRequest | None) -> str:
    match = getattr(request, "resolver_match", None)
    return match.view_name if match else ""


def _find_call_to_many(request: HttpRequest) -> tuple[str, str, Any] | None:
    """Returns the request for the projects and the action that the page was sent, or None if they are invalid."""
    action = request.POST.get("action", "")
    try:
        ids = [str(UUID(each)) for each in _chosen_in(request)]
    except ValueError:
        return None
    if not ids or action not in {*Action.values, DELETE}:
        return None
    if action != DELETE:
        return "POST", "/api/projects/control", {"ids": ids[:MOST_AT_ONCE], "action": action}
    return "DELETE", "/api/projects/" + (ids[0] if len(ids) == 1 else f"{{{','.join(ids)}}}"), None


def _chosen_in(request: HttpRequest) -> list[str]:
    """Returns each project once, as the form does, and no more than the form accepts."""
    return list(dict.fromkeys(request.POST.getlist("project")))[:MOST_CHOSEN]


def _write_query(query: Any) -> str:
    """Returns the query of the API that corresponds to the page's query."""
    sent = {"status": query.status, "q": query.text, "sort": SORTS[query.order]}
    return urlencode({name: value for name, value in sent.items() if value})


def _is_signed_in(context: dict[str, Any]) -> bool:
    return bool(getattr(context.get("user"), "is_authenticated", False))
