"""A ciphertext can be decrypted only in its own context. Everything else raises the same error."""

import json
from uuid import UUID

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from accounts.credentials.encryption import DecryptionError, WrongContextError, decrypt, encrypt
from accounts.credentials.second_factor_secrets import decrypt_secret
from tests.accounts.credentials.malformed import encrypt_bytes, malformed_plaintexts

CONTEXT = {"user": "alice", "purpose": "test"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*CONTEXT, "value"]) | st.text(), inner),
    max_leaves=8,
)

# Written by the first version, with the key below.
OLD_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OLD_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
OLD_USER = UUID("00000000-0000-4000-8000-00000000000a")
OLD_CIPHERTEXT = (
    "gAAAAABrAjEyGJKATaVHBlchNNdrj7ms-PxGpBHfM0TbC1Eemd6w7LBRvFNB-E24JeDK0VkskyxG8wiixWPQGOBCuXfQ2kpV5KPNPtnpXhkP4ang"
    "0o4Wfq8ppUfYGMgWDT4TYXuy7Fvn0DE-oaAdyyv0y6VPLUf31fwoAv0WtMS2facA__CvqiiuWj4AlKsbiZ3n4SDU7ypk"
)


@given(st.text(), st.dictionaries(st.text().filter(lambda name: name != "value"), st.text()))
def test_an_encrypted_value_is_decrypted(value: str, context: dict[str, str]) -> None:
    assert decrypt(encrypt(value, context=context), context=context) == value


@pytest.mark.parametrize("context", [{"user": "bob", "purpose": "test"}, {"user": "alice", "purpose": "other"}])
def test_another_context_is_refused(context: dict[str, str]) -> None:
    with pytest.raises(WrongContextError):
        decrypt(encrypt("x", context=CONTEXT), context=context)


@pytest.mark.parametrize("context", [{}, {"user": "alice"}, {**CONTEXT, "field": "x"}])
def test_a_value_of_another_shape_is_refused(context: dict[str, str]) -> None:
    with pytest.raises(DecryptionError):
        decrypt(encrypt("x", context=CONTEXT), context=context)


@pytest.mark.parametrize("plaintext", malformed_plaintexts({**CONTEXT, "value": "x"}), ids=lambda text: text[:40])
def test_a_malformed_plaintext_is_an_error(plaintext: bytes) -> None:
    with pytest.raises(DecryptionError):
        decrypt(encrypt_bytes(plaintext), context=CONTEXT)


@given(st.binary() | JSON.map(lambda content: json.dumps(content).encode()))
def test_any_other_ciphertext_is_refused(plaintext: bytes) -> None:
    with pytest.raises(DecryptionError):
        decrypt(encrypt_bytes(plaintext), context=CONTEXT)


def test_changed_ciphertexts_and_those_of_another_key_are_refused(settings: Settings) -> None:
    ciphertext = encrypt("x", context=CONTEXT)
    for wrong in ("", "\ud800", ciphertext[:-10] + "AAAAAAAAAA", ciphertext[:-1]):
        with pytest.raises(DecryptionError):
            decrypt(wrong, context=CONTEXT)
    settings.BERTH_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(DecryptionError):
        decrypt(ciphertext, context=CONTEXT)


def test_a_second_factor_of_the_first_version_is_still_read(settings: Settings) -> None:
    settings.BERTH_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), OLD_KEY]

    assert decrypt_secret(OLD_CIPHERTEXT, user_id=OLD_USER) == OLD_SECRET
