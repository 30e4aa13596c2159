"""The gateway accepts every server that an owner can store."""

from random import Random
from typing import Any

import pytest
from gateway.entries.servers import read_servers

from projects.rules.settings.keyed_servers import CredentialLineError, secrets_of, separate

pytestmark = pytest.mark.one_database
SCHEMA: Any = {"properties": {"keys": {"type": "array", "x-berth-credentials": True}}}


def test_the_gateway_accepts_every_stored_server_name_and_redacts_the_same_secrets() -> None:
    drawn, taken = Random(51), 0
    for _ in range(600):
        host = ".".join("".join(drawn.choices("ab0-", k=drawn.randint(1, 3))) for _ in range(drawn.randint(1, 3)))
        value = "".join(drawn.choices('abcdefgh12345678=,;" ', k=40)).strip() + " a-token-of-16-characters"
        credential, base = f"X-Key: {value}", f"https://{host}{drawn.choice((':8443', ':0', '/x', ''))}"
        try:
            separate(SCHEMA, {"keys": [f"{base} {credential}"]}, {})
        except CredentialLineError:
            continue
        taken += 1
        server = {"base": base, "header": "x-key", "value": value}
        (found,) = read_servers({"virtual": "0" * 64, "by_id": {"0" * 16: server}}).by_id.values()
        assert set(found.secrets) == set(secrets_of(credential))
    assert 50 < taken < 550
