"""The gateway accepts every server that an owner can store, and looks for its credential in little time."""

from itertools import chain
from random import Random
from typing import Any

import pytest
from gateway.entries.servers import MOST_SECRETS, read_servers
from gateway.pipes.leak_detector import LeakDetector, forms_of

from projects.rules.settings.keyed_servers import MANY_WORDS, CredentialLineError, secrets_of, separate

pytestmark = pytest.mark.one_database
SCHEMA: Any = {"properties": {"keys": {"type": "array", "x-berth-credentials": True}}}


def test_the_gateway_accepts_every_stored_server_name_and_redacts_the_same_secrets() -> None:
    drawn, taken = Random(51), 0
    for _ in range(600):
        host = ".".join("".join(drawn.choices("ab0x-", k=drawn.randint(1, 3))) for _ in range(drawn.randint(1, 3)))
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
        assert len(secrets_of(credential)) <= MOST_SECRETS
        for form in chain.from_iterable(forms_of([each]) for each in secrets_of(credential)):
            assert LeakDetector(*found.secrets).is_completed_by(f"<{form}>".encode()), form
    assert 50 < taken < 550


@pytest.mark.parametrize("word", ["aaaaa{:03}", "a=aaa/{:03}b", '"/a/a{:03}', "{:03}%a\\aaa", "{:08},"])
@pytest.mark.parametrize("between", [" ", "  ", "; "])
def test_a_credential_of_hundreds_of_words_is_neither_stored_nor_used(word: str, between: str) -> None:
    """To look for these in an answer of half a megabyte would take the gateway seconds."""
    value = between.join(word.format(number) for number in range(300))[:1990]
    with pytest.raises(CredentialLineError, match=MANY_WORDS):
        separate(SCHEMA, {"keys": [f"https://a.example X-Key: {value}"]}, {})
    server = {"base": "https://a.example", "header": "x-key", "value": value}
    assert not read_servers({"virtual": "0" * 64, "by_id": {"0" * 16: server}}).by_id
