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
}
"""By the name of a page. The others do what the API cannot."""


@register.simple_tag(takes_context=True)
def api_call(context: dict[str, Any]) -> str:
    """Empty where there is none, and where nobody is signed in."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None or match.view_name not in CALLS or not getattr(context.get("user"), "is_authenticated", False):
        return ""
    method, path, body = CALLS[match.view_name]
    address = settings.BERTH_PUBLIC_URL + path.format(**match.kwargs)
    return write_curl(Call(method, address, takes_token=True, body=body))
