"""Ciphertexts of the first version are still read, and malformed ones are an error."""

from typing import Any
from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from projects.credentials.encryption import SecretUnreadableError, decrypt_secret
from tests.accounts.credentials.malformed import encrypt_bytes, malformed_plaintexts
from tests.accounts.credentials.test_encryption import OLD_KEY

ALICES = UUID("00000000-0000-4000-8000-00000000000a")
SECRET = "sk-the-secret-of-alice-0123456789"
# Written by the first version for ALICES and `api_key`, with the key OLD_KEY.
OLD_CIPHERTEXT = (
    "gAAAAABrAjEy5yVViPCqSEVVwsnruBnQ9wKrmSK7w3hmIldUlojkbfxdfnhdNxW9SguFZSvIJ9UyChQPDudJ7PJzELHAO_qLcg7F_zE5hS3Lk0ZM"
    "jkYPEvAQdY_6tbxZ2vwOyPFG4_58AW0QnEG2G0-hiqGmZYictdm0Q-GTbQcR2FTEY0jLHk6_rEtXi1mlnwO56hjn2D6z3-EiNC1RGLVWLCfBVcxt"
    "MEVNAieT-bBJuziuhLIG5zo="
)


def _decrypt(ciphertext: str) -> str:
    return decrypt_secret(project_id=ALICES, field="api_key", ciphertext=ciphertext)


@pytest.mark.parametrize(
    "plaintext",
    malformed_plaintexts({"project": str(ALICES), "field": "api_key", "value": SECRET}),
    ids=lambda plaintext: plaintext[:40],
)
def test_a_malformed_plaintext_is_an_error(plaintext: bytes) -> None:
    with pytest.raises(SecretUnreadableError):
        _decrypt(encrypt_bytes(plaintext))


def test_ciphertexts_of_the_first_version_are_still_read(settings: Any) -> None:
    settings.BERTH_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), OLD_KEY]
    assert _decrypt(OLD_CIPHERTEXT) == SECRET
