"""Credentials at rest: decryption works only for the same row, and never for a changed ciphertext."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any
from uuid import UUID

import pytest
from cryptography.fernet import Fernet
from django.conf import settings as current
from hypothesis import given
from hypothesis import strategies as st

from projects.credentials.encryption import (
    SecretUnreadableError,
    decrypt_secret,
    encrypt_secret,
    hint_of,
)
from projects.models import Project

ALICES = UUID("00000000-0000-4000-8000-00000000000a")
BOBS = UUID("00000000-0000-4000-8000-00000000000b")
SECRET = "sk-the-secret-of-alice-0123456789"
TEXT = st.text(st.characters(codec="utf-8"), max_size=300)


def sealed(value: str = SECRET, *, project_id: UUID = ALICES, field: str = "api_key") -> str:
    return encrypt_secret(project_id=project_id, field=field, value=value)


def opened(ciphertext: str, *, project_id: UUID = ALICES, field: str = "api_key") -> str:
    return decrypt_secret(project_id=project_id, field=field, ciphertext=ciphertext)


# -- encrypt and decrypt ----------------------------------------------------------------------------------------------


@given(TEXT, st.uuids(), st.sampled_from(["telegram_token", "api_key"]))
def test_an_encrypted_secret_is_decrypted(value: str, project_id: UUID, field: str) -> None:
    ciphertext = encrypt_secret(project_id=project_id, field=field, value=value)
    assert decrypt_secret(project_id=project_id, field=field, ciphertext=ciphertext) == value


def test_encrypting_a_secret_twice_gives_two_ciphertexts() -> None:
    assert sealed() != sealed()


def test_a_ciphertext_shows_neither_the_secret_nor_its_row() -> None:
    raw = urlsafe_b64decode(sealed())
    assert not any(part.encode() in raw for part in (SECRET, str(ALICES), "api_key"))


@pytest.mark.parametrize(
    ("project_id", "field"), [(BOBS, "api_key"), (ALICES, "telegram_token"), (BOBS, "telegram_token")]
)
def test_a_ciphertext_of_another_row_or_field_is_refused(project_id: UUID, field: str) -> None:
    with pytest.raises(SecretUnreadableError, match="another row") as caught:
        opened(sealed(), project_id=project_id, field=field)
    assert SECRET not in str(caught.value)


def test_swapped_columns_of_a_project_are_refused(project: Project) -> None:
    project.api_key_ciphertext, project.telegram_token_ciphertext = (
        project.telegram_token_ciphertext,
        project.api_key_ciphertext,
    )
    for field in ("api_key", "telegram_token"):
        with pytest.raises(SecretUnreadableError):
            project.decrypt_credential(field)


def test_swapped_rows_are_refused(deploy: Any) -> None:
    one, two = deploy(), deploy(telegramToken="5:other")
    Project.objects.filter(pk=one.pk).update(api_key_ciphertext=two.api_key_ciphertext)
    one.refresh_from_db()
    with pytest.raises(SecretUnreadableError):
        one.decrypt_credential("api_key")


def test_every_flipped_byte_is_an_error_and_never_data() -> None:
    raw = urlsafe_b64decode(sealed())
    for position in range(len(raw)):
        for bit in (0x01, 0x80):
            flipped = bytearray(raw)
            flipped[position] ^= bit
            with pytest.raises(SecretUnreadableError):
                opened(urlsafe_b64encode(flipped).decode())


@given(st.data())
def test_a_changed_character_never_gives_other_data(data: st.DataObject) -> None:
    """The last character before the padding has unused bits: a change there may still give the secret itself."""
    text = sealed()
    position = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.characters())
    changed = text[:position] + character + text[position + 1 :]
    try:
        assert opened(changed) == SECRET
    except SecretUnreadableError:
        assert changed != text


@given(st.one_of(TEXT, st.binary(max_size=200).map(lambda raw: urlsafe_b64encode(raw).decode())))
def test_anything_but_a_ciphertext_is_an_error(ciphertext: str) -> None:
    with pytest.raises(SecretUnreadableError):
        opened(ciphertext)


@pytest.mark.parametrize("cut", [0, 1, 20, 60, -1, -20])
def test_a_cut_ciphertext_is_an_error(cut: int) -> None:
    with pytest.raises(SecretUnreadableError):
        opened(sealed()[:cut])


@pytest.mark.parametrize(
    "content", [[], {}, "x", None, 5, {"project": str(ALICES)}, {"project": str(ALICES), "field": "api_key"}]
)
def test_a_ciphertext_of_another_purpose_is_an_error(content: Any) -> None:
    token = Fernet(current.BERTH_ENCRYPTION_KEYS[0]).encrypt(json.dumps(content).encode())
    with pytest.raises(SecretUnreadableError):
        opened(token.decode())


def test_a_ciphertext_of_invalid_json_is_an_error() -> None:
    with pytest.raises(SecretUnreadableError):
        opened(Fernet(current.BERTH_ENCRYPTION_KEYS[0]).encrypt(b"\xff not json").decode())


# -- keys -------------------------------------------------------------------------------------------------------------


def test_a_wrong_key_is_an_error_that_names_the_variable(settings: Any) -> None:
    ciphertext = sealed()
    settings.BERTH_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(SecretUnreadableError, match="BERTH_ENCRYPTION_KEYS") as caught:
        opened(ciphertext)
    assert caught.value.__suppress_context__
    assert ciphertext not in str(caught.value)


def test_the_first_key_encrypts_and_all_decrypt(settings: Any) -> None:
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    settings.BERTH_ENCRYPTION_KEYS = [old]
    before = sealed()
    settings.BERTH_ENCRYPTION_KEYS = [new, old]
    after = sealed()
    assert (opened(before), opened(after)) == (SECRET, SECRET)
    settings.BERTH_ENCRYPTION_KEYS = [new]
    assert opened(after) == SECRET
    with pytest.raises(SecretUnreadableError):
        opened(before)
    settings.BERTH_ENCRYPTION_KEYS = [old]
    with pytest.raises(SecretUnreadableError):
        opened(after)


# -- hints -----------------------------------------------------------------------------------------------------------


@given(TEXT)
def test_a_hint_has_the_last_four_characters_of_a_long_secret_only(value: str) -> None:
    assert hint_of(value) == (value[-4:] if len(value) >= 16 else "")
