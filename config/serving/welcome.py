"""The welcome after a start: the address, how to sign in, and a first request."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from string import Template
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DatabaseError
from django.urls import reverse

from config.environment.env import is_any_address, is_loopback

READY_WITHIN = 60
"""Seconds after which the text says what is not ready yet."""

WELCOME = Template("""
Berth is ready at $url

  Sign in   $url$sign_in   as $email
  API       $url/api/docs

  A first request:
    curl -s $url/api/auth/login -H 'Content-Type: application/json' \\
         -d '{"email": "$email", "password": "<your password>"}'

Ctrl-C stops the server and the watcher. Agents keep running.
""")


PLAIN_HTTP = """
Warning: people reach Berth over plain http, so anyone on the way can read passwords and tokens. Put a proxy with
a certificate in front of it, and set BERTH_PUBLIC_URL to its https address (docs/production.md).
"""

REACHABLE_NOWHERE = """
Warning: Berth listens on the network but answers only this machine. Set BERTH_PUBLIC_URL to the address that people
use, such as https://berth.example.org, and start it again.
"""


def write_welcome(write: Callable[[str], object]) -> None:
    """Waits until /readyz says 200, then writes the welcome."""
    deadline = time.monotonic() + READY_WITHIN
    while (parts := ask_readiness())["status"] != "ok":
        if time.monotonic() > deadline:
            write(f"Berth is up, but not ready: {json.dumps(parts)}. Its log says why.")
            return
        time.sleep(0.2)
    admin = None
    with suppress(DatabaseError):  # it has failed since; the server says so itself
        admin = get_user_model().objects.filter(is_superuser=True, is_active=True).order_by("date_joined").first()
    sign_in = reverse(settings.LOGIN_URL)
    if warning := warn_of_plain_http():
        write(warning)
    write(WELCOME.substitute(url=settings.BERTH_PUBLIC_URL, sign_in=sign_in, email=admin or "<your email>"))


def warn_of_plain_http() -> str | None:
    """Returns a warning if other machines can reach this server over plain http: their passwords could be read on the
    way.
    """
    host = settings.BERTH_HOST
    public = urlsplit(settings.BERTH_PUBLIC_URL)
    if public.scheme == "https":
        return None
    if not is_loopback(public.hostname or ""):
        return PLAIN_HTTP
    return None if is_loopback(host) else REACHABLE_NOWHERE


def ask_readiness() -> dict[str, str]:
    """Returns the answer of /readyz of the server on this machine."""
    # A server that listens on 0.0.0.0 or :: is reachable at localhost too.
    host = "localhost" if is_any_address(settings.BERTH_HOST) else settings.BERTH_HOST
    connection = HTTPConnection(host, settings.BERTH_PORT, timeout=15)
    try:
        connection.request("GET", "/readyz", headers={"Host": "localhost"})
        answer: dict[str, str] = json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError):
        return {"status": "unavailable", "web": "unavailable"}
    finally:
        connection.close()
    return answer
