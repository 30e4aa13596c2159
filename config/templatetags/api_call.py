"""The request of the API that does what a page does, as a curl command."""

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
"""By the name of a page."""

LIST = "projects:list"
"""The page whose request asks for what the list has been narrowed down to, in the same order, and for all of it."""

SORTS = {"trouble": "status", "newest": "-created_at", "oldest": "created_at", "name": "name"}
"""The order of the API by that of the page."""

MANY = "projects:bulk"
"""The page of a command to several projects, whose request names the chosen ones."""

MOST_AT_ONCE, MOST_CHOSEN = 50, 200
"""Projects that one request of the API commands, and one form of that page. To import them would take each command of
`manage.py` a quarter of a second.
"""

DELETE = "delete"
"""What that page does beside the commands: in the API a request for each project, which curl makes of the braces."""

PUBLIC = {"accounts:sign-in"}
"""Of those, what takes no token."""

OF_A_SESSION = {"accounts:make-key", "accounts:revoke-key", "accounts:rotate-key"}
"""What takes the token of a session, and no key."""

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
    """How many projects the request to many names, of how many; empty where it names all of them."""
    request = context.get("request")
    if request is None or _name_of(request) != MANY or request.POST.get("action") == DELETE:
        return {}
    chosen = len(_chosen_in(request))
    return {"named": MOST_AT_ONCE, "chosen": chosen} if chosen > MOST_AT_ONCE else {}


@register.simple_tag(takes_context=True)
def token_of_call(context: dict[str, Any]) -> str:
    """Whose token the request takes: `key`, `session`, or none where that is empty."""
    name = _name_of(context.get("request"))
    return "" if name in PUBLIC else "session" if name in OF_A_SESSION else "key"


@register.simple_tag(takes_context=True)
def reason_without_call(context: dict[str, Any]) -> str:
    """Why the API does not do what this page does; empty where it does, and where nobody is signed in."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None or not _is_signed_in(context):
        return ""
    return _STAFF if "admin" in match.app_names else REASONS.get(match.view_name, "")


def _name_of(request: HttpRequest | None) -> str:
    match = getattr(request, "resolver_match", None)
    return match.view_name if match else ""


def _find_call_to_many(request: HttpRequest) -> tuple[str, str, Any] | None:
    """With the projects and the command that the page was sent. None where those make no sense."""
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
    """Each once, as the form takes them; of a form that it refuses no more than it would take."""
    return list(dict.fromkeys(request.POST.getlist("project")))[:MOST_CHOSEN]


def _write_query(asked: Any) -> str:
    """Of the API, for what the page has read from its own."""
    sent = {"status": asked.status, "q": asked.text, "sort": SORTS[asked.order]}
    return urlencode({name: value for name, value in sent.items() if value})


def _is_signed_in(context: dict[str, Any]) -> bool:
    return bool(getattr(context.get("user"), "is_authenticated", False))
