"""Runs in a separate process: creates Ada, and prints Alice's and her cookies as JSON."""

import json
import sys

import django


def main() -> None:
    django.setup()
    from django.conf import settings

    from accounts.models import User
    from tests.clients import browser_of, make_person
    from tests.people import email_of

    alice, ada = User.objects.get(email=email_of("alice")), make_person("ada")
    name = settings.SESSION_COOKIE_NAME
    cookies = {who: f"{name}={browser_of(user).cookies[name].value}" for who, user in (("alice", alice), ("ada", ada))}
    sys.stdout.write(json.dumps(cookies))


if __name__ == "__main__":
    main()
