"""What somebody who has just started Berth is told: where it is, how to sign in, and a first request."""

import json
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from string import Template

from django.conf import settings
from django.contrib.auth import get_user_model
from django.urls import reverse

PATIENCE = 60
"""Seconds after which to say what is not ready yet."""

WELCOME = Template("""
Berth is ready at $url

  Sign in   $url$sign_in   as $email
  API       $url/api/docs

  A first request:
    curl -s $url/api/auth/login -H 'Content-Type: application/json' \\
         -d '{"email": "$email", "password": "<your password>"}'

Ctrl-C stops the server and the watcher. Agents go on.
""")


def announce(write: Callable[[str], object]) -> None:
    """Waits until /readyz is green, then writes the welcome."""
    deadline = time.monotonic() + PATIENCE
    while (parts := ask_readiness())["status"] != "ok":
        if time.monotonic() > deadline:
            write(f"Berth is up, but not ready: {json.dumps(parts)}. Its log says why.")
            return
        time.sleep(0.2)
    admin = get_user_model().objects.filter(is_superuser=True).order_by("date_joined").first()
    sign_in = reverse(settings.LOGIN_URL)
    write(WELCOME.substitute(url=settings.BERTH_PUBLIC_URL, sign_in=sign_in, email=admin or "<your email>"))


def ask_readiness() -> dict[str, str]:
    """What /readyz of the server on this machine says."""
    # Who listens on 0.0.0.0 or :: does so on this one too.
    everywhere = settings.BERTH_HOST.strip("0.:") == ""
    connection = HTTPConnection("localhost" if everywhere else settings.BERTH_HOST, settings.BERTH_PORT, timeout=15)
    try:
        connection.request("GET", "/readyz", headers={"Host": "localhost"})
        answer: dict[str, str] = json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError):
        return {"status": "unavailable", "web": "unavailable"}
    finally:
        connection.close()
    return answer
