"""Refuses requests from elsewhere for this machine's own names: a foreign page must not look like a local one."""

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port

from accounts.http import is_on_this_machine

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
HEALTH_PATHS = frozenset({"/healthz", "/readyz", "/readyz/server"})
PLAIN_PATHS = HEALTH_PATHS | {"/metrics"}
"""Paths for programs, which are neither pages nor part of the API."""


class LoopbackHostMiddleware:
    """Answers to `localhost` and its addresses only for health checks and for clients on this machine, on our port.

    If BERTH_PUBLIC_URL or BERTH_ALLOWED_HOSTS names them, they are ordinary names. `ALLOWED_HOSTS` contains them all,
    because Django knows neither ports nor clients.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name, port = split_domain_port(request.get_host())
        if name in LOOPBACK_NAMES and not _is_admitted(request, name, port):
            raise DisallowedHost("A loopback name is not an address of this service. Use BERTH_PUBLIC_URL.")
        return self.get_response(request)


def _is_admitted(request: HttpRequest, name: str, port: str) -> bool:
    if name in settings.BERTH_NAMED_HOSTS:
        return True
    public = urlsplit(settings.BERTH_PUBLIC_URL)
    is_public_here = f"[{public.hostname}]" in LOOPBACK_NAMES or public.hostname in LOOPBACK_NAMES
    ports = {"", str(settings.BERTH_PORT)} | ({str(public.port)} if is_public_here and public.port else set())
    return port in ports and (is_public_here or request.path_info in HEALTH_PATHS or is_on_this_machine(request))
