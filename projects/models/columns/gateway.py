"""Columns: what the gateway must know about a project, and what it has seen of the agent."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import models
from django.db.models import F, Q
from django.views.decorators.debug import sensitive_variables

from projects.credentials.encryption import decrypt_secret, encrypt_secret
from projects.models.columns.budget import Budgeted
from projects.models.columns.permissions import Permitted
from projects.rules.status.sightings import OF_PROVIDER, OF_TELEGRAM, Judgement

VIRTUAL_TOKEN = "virtual_token"  # noqa: S105 - the name of a field
VIRTUAL_KEY = "virtual_key"
SERVER_CREDENTIALS = "server_credentials"


class Servers(NamedTuple):
    """The owner's credentials of servers by address, and the virtual credential that stands for all of them."""

    virtual: str
    credentials: Mapping[str, str]


class BehindGateway(Budgeted, Permitted):
    """A project that may be behind the gateway.

    Virtual credentials stay the same for the life of a project, so that neither a failed start nor a new real
    credential leaves its agent without one. `entry_version` rises with each change of the gateway's entry, in the same
    statement. `is_behind_gateway`: the container was created with virtual credentials, or may have been. `sees_from` is
    when the gateway's sightings begin to count: the last start or change of a credential.
    """

    address = models.GenericIPAddressField(protocol="IPv4", null=True, editable=False)
    entry_version = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    virtual_token_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    virtual_key_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    server_credentials_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    is_behind_gateway = models.BooleanField(default=False, db_default=False, editable=False)

    gateway_node = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    """The Swarm node whose gateway may get leases for it, or empty for none (`services/gateway/moves.py`)."""
    leaves_node = models.BooleanField(default=False, db_default=False, editable=False)
    """Whether that gateway no longer gets leases."""

    sees_from = models.DateTimeField(null=True, editable=False)
    seen_code = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)
    """The trouble that the gateway has seen: a code of the agent contract or of `rules/status/sightings.py`."""
    seen_well = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)
    """What the gateway has seen to be well, or not. See `Judgement`. A refusal stays until the contrary was seen."""
    polled_at = models.DateTimeField(null=True, editable=False)
    """When Telegram last answered the bot, to the minute."""
    first_polled_at = models.DateTimeField(null=True, editable=False)
    """When Telegram first answered the bot in this run, to be shown to people."""

    class Meta:
        abstract = True

    if TYPE_CHECKING:  # columns of the model
        telegram_token_ciphertext: str
        api_key_ciphertext: str

    @property
    def has_virtual_credentials(self) -> bool:
        """Whether the gateway may have an entry of the project."""
        return bool(self.virtual_token_ciphertext or self.virtual_key_ciphertext or self.address)

    def still_seen(self, *, has_new_token: bool, has_new_key: bool) -> dict[str, Any]:
        """Returns the columns to write when a credential changes: nothing is known of the new one."""
        changed = (OF_TELEGRAM if has_new_token else frozenset()) | (OF_PROVIDER if has_new_key else frozenset())
        left = Judgement(self.seen_code, self.seen_well).without(changed)
        polls = {} if has_new_token else {"polled_at": self.polled_at, "first_polled_at": self.first_polled_at}
        return {**NOTHING_SEEN, "seen_code": left.code, "seen_well": left.well, **polls}

    @sensitive_variables("value")
    def encrypt_virtual(self, field: str, value: str) -> dict[str, str]:
        """Returns the column to write."""
        return {f"{field}_ciphertext": encrypt_secret(project_id=self.pk, field=field, value=value)}

    def decrypt_virtual(self, field: str) -> str:
        """Returns the plaintext of `VIRTUAL_TOKEN`, `VIRTUAL_KEY` or `SERVER_CREDENTIALS`; empty if none is stored.

        Raises `SecretUnreadableError`.
        """
        ciphertext = getattr(self, f"{field}_ciphertext")
        return decrypt_secret(project_id=self.pk, field=field, ciphertext=ciphertext) if ciphertext else ""

    @sensitive_variables()
    def encrypt_servers(self, credentials: Mapping[str, str], *, virtual: str) -> dict[str, str]:
        """Returns the column to write for credentials by server address. `virtual` stands for all of them."""
        kept = json.dumps({"virtual": virtual, "credentials": dict(credentials)}) if credentials else ""
        field = SERVER_CREDENTIALS
        return {f"{field}_ciphertext": encrypt_secret(project_id=self.pk, field=field, value=kept) if kept else ""}

    @sensitive_variables()
    def decrypt_servers(self) -> Servers:
        """Returns the stored credentials of servers. Raises `SecretUnreadableError`."""
        kept = json.loads(self.decrypt_virtual(SERVER_CREDENTIALS) or "{}")
        return Servers(kept.get("virtual", ""), kept.get("credentials", {}))


HAS_VIRTUAL = ~Q(virtual_token_ciphertext="", virtual_key_ciphertext="", address=None)
"""The projects of which the gateway may have an entry."""

NEXT_VERSION = {"entry_version": F("entry_version") + 1}
"""Write this together with each change of the gateway's entry."""

NOTHING_SEEN = {"seen_code": "", "seen_well": "", "polled_at": None, "first_polled_at": None}
