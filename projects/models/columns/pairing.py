"""Columns: how many people an agent is paired with, and the codes by which people pair."""

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.expressions import Combinable
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from containers.agent_contract import PairingCode, PairingKind
from projects.credentials.encryption import SecretUnreadableError, decrypt_secret, encrypt_secret
from projects.rules.bot import Bot, describe_bot
from projects.rules.settings.schema import defaults_of

PAIRING_SECRET = "pairing_secret"  # noqa: S105 - the name of a field

DAY = 86_400
"""Seconds. The link of a project without paired people changes once a day, and is valid for one to two days."""


class PairsPeople(models.Model):
    """A project whose agent may pair with people.

    The agent checks codes by itself, with a secret that it gets as a file. An agent without a secret does not pair: it
    answers the people in `allowed_users`, or everyone if that is empty and it never had a secret.
    """

    pairing_secret_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    pairing_from = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """The first generation whose containers have the secret."""
    pairing_number = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """The number of the newest code. Each code created on demand has a number of its own."""
    agent_paired = models.PositiveIntegerField(null=True, editable=False)
    """The number of paired people in the agent's last report."""

    class Meta:
        abstract = True

    if TYPE_CHECKING:  # columns of the model
        settings: Any
        agent_type: Any
        generation: int
        bot_id: int | None
        bot_username: str

    @property
    def bot(self) -> Bot | None:
        return describe_bot(self.bot_id, self.bot_username, code=self.owners_code(), paired=self.agent_paired)

    @property
    def pairs(self) -> bool:
        return bool(self.pairing_secret_ciphertext)

    @property
    def awaits_owner(self) -> bool:
        """Whether, as far as known, the agent answers nobody until its owner pairs with it."""
        if not self.pairs or self.needs_start_to_pair:
            return False
        return not self.agent_paired and not self._lists_users()

    def _lists_users(self) -> bool:
        """Returns whether its settings or its type's defaults list the people it answers."""
        if "allowed_users" in self.settings:
            return bool(self.settings["allowed_users"])
        return bool(defaults_of(self.agent_type.settings_schema).get("allowed_users"))

    @property
    def needs_start_to_pair(self) -> bool:
        """Whether its container was created before there was a secret."""
        return self.generation < self.pairing_from

    def encrypt_pairing_secret(self, *, in_force_from: int | Combinable) -> dict[str, Any]:
        """Returns the columns to write for a new secret, which invalidates all codes."""
        ciphertext = encrypt_secret(project_id=self.pk, field=PAIRING_SECRET, value=secrets.token_urlsafe(32))
        return {"pairing_secret_ciphertext": ciphertext, "pairing_from": in_force_from, "agent_paired": None}

    def decrypt_pairing_secret(self) -> str:
        """Returns the secret, or an empty text if there is none. Raises `SecretUnreadableError`."""
        ciphertext = self.pairing_secret_ciphertext
        return decrypt_secret(project_id=self.pk, field=PAIRING_SECRET, ciphertext=ciphertext) if ciphertext else ""

    @sensitive_variables("secret")
    def sign_code(self, kind: PairingKind, *, expires: int) -> str:
        """Returns a signed code with the newest number. Raises `SecretUnreadableError`."""
        secret = self.decrypt_pairing_secret()
        return PairingCode(kind, self.pairing_number, expires).sign(secret)

    def owners_code(self) -> str:
        """Returns the code that pairs the first person, or an empty text if someone is paired.

        It stays the same until the end of the day, so that a polling client gets the same response.
        """
        if not self.awaits_owner:
            return ""
        expires = (int(clock.now().timestamp()) // DAY + 2) * DAY
        with suppress(SecretUnreadableError):
            return self.sign_code(PairingKind.OWNER, expires=expires)
        return ""
