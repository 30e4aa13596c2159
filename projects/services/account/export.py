"""Exports everything that the tables have about one user as a streamed ZIP of JSON lines, without credentials.

Each table is read in pieces, so that neither memory nor a statement grows with the user's data.
"""

import io
import json
from collections.abc import Generator, Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import orjson
from django.db.models import JSONField, Model, Q

from accounts import audit
from accounts.models import ApiKey, KnownNetwork, OpenSession, OutgoingMail, SecondFactor, UsageCounter, User
from accounts.services.invitations import KIND as INVITATION
from accounts.throttling import counters
from projects.errors import TooManyExportsError
from projects.models import (
    AlertChannel,
    AlertDelivery,
    Allowance,
    Event,
    HourlyUsage,
    Project,
    Run,
    Sample,
    Spending,
    Trouble,
)
from projects.models.event import BY_STAFF, STAFF
from projects.rules.alerts import STAFF_KINDS

HOUR = 3600
MOST = 5
"""The maximum number of exports per user and hour."""

PIECE = 500
FEW = 5
"""The maximum number of rows in memory, in general (`PIECE`) and for tables with logs (`FEW`)."""

README = """\
Everything that the tables of this installation of Berth say about your account, one JSON object on each line. Times
are in UTC. Left out are passwords, tokens, keys and their digests, failed sign-ins, which are counted under such
digests, notes that staff keep for themselves, and which of them did what. What your agents remember is not in the
tables: it goes with each agent.
"""


class Table(NamedTuple):
    """A table to export. `of` is the path to the id of the user or of their project; `left_out` columns are secret."""

    model: type[Model]
    of: str
    left_out: frozenset[str] = frozenset()
    piece: int = PIECE


_CIPHERTEXTS = ("telegram_token", "api_key", "virtual_token", "virtual_key", "pairing_secret", "server_credentials")

TABLES = (
    Table(User, "id", frozenset({"password", "notes", "session_version"})),
    Table(SecondFactor, "user_id", frozenset({"secret_ciphertext", "last_step"})),
    Table(KnownNetwork, "user_id"),
    Table(OpenSession, "user_id", frozenset({"token", "session_version"})),
    Table(ApiKey, "user_id", frozenset({"digest", "session_version"})),
    Table(OutgoingMail, "user_id", frozenset({"last_error"})),
    Table(UsageCounter, "subject"),
    Table(Allowance, "user_id"),
    Table(AlertChannel, "user_id", frozenset({"address_ciphertext", "secret_ciphertext", "link_code"})),
    Table(AlertDelivery, "channel__user_id"),
    Table(Project, "owner_id", frozenset({f"{name}_ciphertext" for name in _CIPHERTEXTS} | {"reconcile_error"}), FEW),
    Table(Event, "owner_id"),
    Table(HourlyUsage, "owner_id", frozenset({"store"})),
    Table(Spending, "project_id"),
    Table(Run, "project_id", piece=FEW),
    Table(Sample, "project_id"),
    Table(Trouble, "project_id"),
)

NOT_EXPORTED = {
    "accounts.LoginCounter": "digests, and the networks of those who tried, who may be others",
    "accounts.RecoveryCode": "digests of credentials",
    "projects.BatchItem": "what staff are about to do with many projects; what came of it is among the events",
    "projects.IdempotencyRecord": "repeats an answer of the API for a day",
    "projects.LongRequest": "a request that is under way",
    "projects.Quarantined": "the staff decide whose it is",
    "projects.Tally": "numbers of the whole installation, of nobody in it",
}
"""Other tables that name a user or a project, and why they are left out."""


def start_export(*, user: User) -> Generator[bytes, None, None]:
    """Counts the export and returns its bytes. Raises `TooManyExportsError`."""
    window = counters.current_window(HOUR)
    if not counters.consume(subject=user.pk.hex, scope="exports", window=window, limit=MOST):
        raise TooManyExportsError(retry_after=counters.seconds_until_end(window, HOUR))
    audit.record("data_exported", user=user.pk)
    return write_export(user)


def write_export(user: User) -> Generator[bytes, None, None]:
    written = _Written()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", README)
        for table in TABLES:
            name = f"{table.model._meta.model_name}.jsonl"
            with archive.open(name, "w", force_zip64=True) as file:
                for lines in _read(table, user):
                    file.write(lines)
                    if piece := written.take():
                        yield piece
    yield written.take()


def _read(table: Table, user: User) -> Iterator[bytes]:
    if table.of != "project_id":
        chosen = Q(**{table.of: user.pk.hex})
        if table.model is AlertDelivery and not user.is_staff:
            chosen &= ~Q(kind__in=STAFF_KINDS)
        yield from _read_pieces(table, chosen)
        return
    for project_id in list(Project.objects.owned_by(user).values_list("pk", flat=True)):
        yield from _read_pieces(table, Q(project_id=project_id))


def _read_pieces(table: Table, chosen: Q) -> Iterator[bytes]:
    columns = columns_of(table)
    key = table.model._meta.pk.attname
    rows = table.model._default_manager.filter(chosen).order_by("pk").values(*{key, *columns})
    found: list[dict[str, Any]] = list(rows[: table.piece])
    while found:
        last = found[-1][key]
        yield b"".join(_write(table, {name: row[name] for name in columns}) for row in found)
        found = list(rows.filter(pk__gt=last)[: table.piece]) if len(found) == table.piece else []


def columns_of(table: Table) -> list[str]:
    return [field.attname for field in table.model._meta.concrete_fields if field.attname not in table.left_out]


def _write(table: Table, row: dict[str, Any]) -> bytes:
    if table.model is Event and row["source"] == BY_STAFF:
        row |= {"actor": STAFF, "address": None}
    if table.model is OutgoingMail and row["kind"] == INVITATION:
        row["facts"] = {}  # which member of staff invited them
    for field in table.model._meta.concrete_fields:
        if isinstance(field, JSONField) and field.attname in row:
            # It may have integers of any size, which orjson cannot write.
            row[field.attname] = orjson.Fragment(json.dumps(row[field.attname]))
    return orjson.dumps(row, default=_plain, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE)


def _plain(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError


class _Written(io.RawIOBase):
    """A buffer for the bytes that the archive has written and that are not yet taken."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        return len(data)

    def take(self) -> bytes:
        taken, self._held = bytes(self._held), bytearray()
        return taken
