"""The answers to requests without a valid token, on a path that needs one."""

import pytest
from django.test import Client

KEYS = "/api/auth/keys"


@pytest.mark.parametrize(
    "header", [None, "", "Basic YTpi", "Digest x", "Bearer: x", "Bearer=x", "Bearerx", "Bearers x"]
)
def test_no_bearer_token_is_not_authenticated(client: Client, db: None, header: str | None) -> None:
    answer = client.get(KEYS, headers={} if header is None else {"Authorization": header})

    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["", "x", "a b", "\xff", "a.b.c", "berth_", "berth_" + "A" * 46, "null", "é" * 10])
def test_a_bad_token_is_an_invalid_token(client: Client, db: None, token: str) -> None:
    answer = client.get(KEYS, headers={"Authorization": f"Bearer {token}"})

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    assert answer["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert answer.json()["detail"].endswith(".")
