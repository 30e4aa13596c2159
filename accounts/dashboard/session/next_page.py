"""Which page may follow the sign-in: none that leads back to it, or that signs out."""

from urllib.parse import unquote, urljoin, urlsplit

from django.urls import Resolver404, resolve

_LEADS_BACK = frozenset(
    {"accounts:sign-in", "accounts:sign-in-code", "accounts:sign-out", "admin:login", "admin:logout"}
)


def can_follow(target: str) -> bool:
    """Returns whether the sign-in may redirect there. The caller has checked that the target belongs to this site.

    A relative address would lead back to the sign-in page, with its own query if it is only a fragment.
    """
    if not (target.startswith("/") or urlsplit(target).netloc):
        return False
    path = urlsplit(urljoin("http://host/", unquote(urlsplit(target).path))).path
    try:
        return resolve(path).view_name not in _LEADS_BACK
    except Resolver404:
        return True
