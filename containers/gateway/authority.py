"""Issues the certificates by which the service and the gateways of other nodes recognise each other.

Keys and certificates are derived from the service's encryption keys, like the key of the gateway's files. So nothing is
stored, every process of the service derives the same ones, and they rotate together: the first key signs, and the
further ones stay trusted as long as they are configured.
"""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.views.decorators.debug import sensitive_variables

PERIOD = timedelta(days=30)
"""A certificate is valid from the period before the present one to the second one after it, so for 60 days at least."""

SERVICE = "service.berth.internal"
"""The name in the service's certificate, for which gateways check."""

_BEGIN, _END = datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The validity of an authority. The second date means "no end" (RFC 5280, 4.1.2.5): it ends with its encryption key."""


class Role(StrEnum):
    SERVICE = "service"
    NODE = "node"


_PURPOSES = {Role.SERVICE: ExtendedKeyUsageOID.CLIENT_AUTH, Role.NODE: ExtendedKeyUsageOID.SERVER_AUTH}


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its private key, both as PEM."""

    certificate: str
    key: str = field(repr=False)


def name_of_node(node: str) -> str:
    """Returns the name in the certificate of this node's gateway. `node` is the node's id on the engine."""
    return f"{node.lower()}.node.berth.internal"


def period_of(moment: datetime) -> int:
    """Returns the number, counted from 1970, of the period that contains this moment."""
    return int(moment.timestamp() // PERIOD.total_seconds())


class Authority:
    @sensitive_variables("encryption_key")
    def __init__(self, encryption_key: str, *, instance: str) -> None:
        """`encryption_key` is one of the service's Fernet keys."""
        self._secret = base64.urlsafe_b64decode(encryption_key)
        self._instance = instance
        self._key = self._derive("authority")
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Berth {self._instance}"[:64])])
        self.certificate = _as_pem(self._certify_itself())

    def issue(self, role: Role, name: str, *, now: datetime) -> Identity:
        """Issues a certificate. The result is the same within one period."""
        period = period_of(now)
        begin = datetime.fromtimestamp(period * PERIOD.total_seconds(), UTC)
        key = self._derive(f"{role} {name} {period}")
        known = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        made = (
            self._builder(key, x509.Name([]), begin - PERIOD, begin + 3 * PERIOD)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([_PURPOSES[role]]), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known), critical=False)
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return Identity(_as_pem(made.sign(self._key, None)), private)

    def _certify_itself(self) -> x509.Certificate:
        made = (
            self._builder(self._key, self._name, _BEGIN, _END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
        )
        return made.sign(self._key, None)

    def _builder(
        self, key: Ed25519PrivateKey, name: x509.Name, begin: datetime, end: datetime
    ) -> x509.CertificateBuilder:
        public = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(int.from_bytes(public.digest[:16]) | 1)
            .not_valid_before(begin)
            .not_valid_after(end)
            .add_extension(public, critical=False)
        )

    def _derive(self, what: str) -> Ed25519PrivateKey:
        info = f"berth gateway control {self._instance} {what}".encode()
        derived = HKDF(SHA256(), length=32, salt=None, info=info).derive(self._secret)
        return Ed25519PrivateKey.from_private_bytes(derived)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _as_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
