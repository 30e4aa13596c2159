"""The two pages of signing in, and whether a user is signed in."""

from django.test import Client

from tests.canaries import CANARY_PASSWORD

SIGN_IN = {"email": "alice@example.com", "password": CANARY_PASSWORD}
CODE = "/sign-in/code"


def is_in(client: Client) -> bool:
    return client.get("/settings").status_code == 200
