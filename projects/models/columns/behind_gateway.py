"""What the gateway has to know of a project, and what it has seen of its agent, as columns."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from django.db import models
from django.db.models import F, Q
from django.views.decorators.debug import sensitive_variables

from projects.credentials.encryption import decrypt_secret, encrypt_secret
from projects.models.columns.budget import Budgeted
from projects.models.columns.permissions import Permitted

VIRTUAL_TOKEN = "virtual_token"  # noqa: S105 - the name of a field
VIRTUAL_KEY = "virtual_key"
SERVER_CREDENTIALS = "server_credentials"


class Servers(NamedTuple):
    """Servers that the agent's owner has credentials of, by their addresses, and the virtual credential for them."""

    virtual: str
    credentials: Mapping[str, str]


class BehindGateway(Budgeted, Permitted):
    """A virtual credential stays the same for the life of a project, so that neither a start that fails nor a new real
    one leaves its agent without.

    `entry_version` rises with each change of what the gateway is told, in the statement that makes the change.
    `is_behind_gateway`: the container was made with virtual credentials, or may have been. `sees_from` is the moment
    from which on what the gateway sees counts: a start, or a change of a credential.
    """

    address = models.GenericIPAddressField(protocol="IPv4", null=True, editable=False)
    entry_version = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    virtual_token_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    virtual_key_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    server_credentials_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    is_behind_gateway = models.BooleanField(default=False, db_default=False, editable=False)

    gateway_node = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    """The node of a Swarm whose gateway may be given leases for it. Empty: none. `services/gateway/moves.py`."""
    leaves_node = models.BooleanField(default=False, db_default=False, editable=False)
    """That gateway is given none any more."""

    sees_from = models.DateTimeField(null=True, editable=False)
    seen_code = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)
    """What is wrong by the answers of Telegram and the provider: a code of the agent contract."""
    seen_well = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)
    """Of whom the last answer was a good one: `telegram`, `provider`, both or none, with a blank between."""
    polled_at = models.DateTimeField(null=True, editable=False)
    """When Telegram last answered the bot, to the minute."""
    first_polled_at = models.DateTimeField(null=True, editable=False)
    """The same for the first time in this run of its agent, for people to read."""

    class Meta:
        abstract = True

    if TYPE_CHECKING:  # columns of the model
        telegram_token_ciphertext: str
        api_key_ciphertext: str

    @property
    def has_virtual_credentials(self) -> bool:
        """Whether the gateway may have heard of the project."""
        return bool(self.virtual_token_ciphertext or self.virtual_key_ciphertext or self.address)

    @sensitive_variables("value")
    def encrypt_virtual(self, field: str, value: str) -> dict[str, str]:
        """The column to write."""
        return {f"{field}_ciphertext": encrypt_secret(project_id=self.pk, field=field, value=value)}

    def decrypt_virtual(self, field: str) -> str:
        """The plaintext of `VIRTUAL_TOKEN`, `VIRTUAL_KEY` or `SERVER_CREDENTIALS`; empty where none is stored.

        Raises `SecretUnreadableError`.
        """
        ciphertext = getattr(self, f"{field}_ciphertext")
        return decrypt_secret(project_id=self.pk, field=field, ciphertext=ciphertext) if ciphertext else ""

    @sensitive_variables()
    def encrypt_servers(self, credentials: Mapping[str, str], *, virtual: str) -> dict[str, str]:
        """The column to write for the credentials of servers, by their addresses. `virtual` counts for all of them."""
        kept = json.dumps({"virtual": virtual, "credentials": dict(credentials)}) if credentials else ""
        field = SERVER_CREDENTIALS
        return {f"{field}_ciphertext": encrypt_secret(project_id=self.pk, field=field, value=kept) if kept else ""}

    @sensitive_variables()
    def decrypt_servers(self) -> Servers:
        """Raises `SecretUnreadableError`."""
        kept = json.loads(self.decrypt_virtual(SERVER_CREDENTIALS) or "{}")
        return Servers(kept.get("virtual", ""), kept.get("credentials", {}))


HAS_VIRTUAL = ~Q(virtual_token_ciphertext="", virtual_key_ciphertext="", address=None)
"""The projects of which the gateway may have heard."""

NEXT_VERSION = {"entry_version": F("entry_version") + 1}
"""To be written together with each change of what the gateway is told."""

NOTHING_SEEN = {"seen_code": "", "seen_well": "", "polled_at": None, "first_polled_at": None}
