"""The manifest of an archive: its contents, their digests, and its origin."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from django.views.decorators.debug import sensitive_variables

from config.backup.archive import ArchiveReader, ArchiveWriter
from config.backup.errors import BackupError
from containers.outbound.foreign_json import read_json

FORMAT = 1
"""Format of the archive. A change that this code could not read needs the next number."""

MANIFEST, SEAL = "manifest.json", "seal.json"
LARGEST = 64 * 1024 * 1024
"""Maximum bytes of a manifest, which has some hundred for each agent."""

LONGEST_TEXT = 1024
"""Characters of a name in a manifest."""

WRONG_KEY = (
    "The archive was made with an encryption key that is not here. Name the key file of the same installation with "
    "--keys, or set BERTH_ENCRYPTION_KEYS."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A member of the archive. `size` is in bytes."""

    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Part):
    """The rows of a model, by its label. `sequence` is the last number that the table has assigned."""

    model: str
    columns: list[str]
    rows: int
    sequence: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Part):
    """The memory of an agent, which is its volume. `image` is any image that can read it. `settled`: nothing was
    written to it during the copy.
    """

    key: str
    volume: str
    labels: dict[str, str]
    image: str
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    id: str
    version: str
    created_at: str
    instance: str
    installation: str
    database: str
    migrations: list[list[str]]
    tables: list[Table]
    memory: list[Memory] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    product: str = "berth"
    format: int = FORMAT

    @property
    def made_at(self) -> datetime:
        return datetime.fromisoformat(self.created_at)

    @property
    def parts(self) -> list[Part]:
        return [*self.tables, *(self.memory or [])]


@sensitive_variables("keys")
def write_manifest(writer: ArchiveWriter, manifest: Manifest, *, keys: list[str]) -> None:
    """Adds the manifest and its seal, which reveals a later change or a wrong key."""
    content = json.dumps(asdict(manifest), indent=1, sort_keys=True).encode()
    with writer.member(MANIFEST) as member:
        member.write(content)
    seal = {"sha256": hashlib.sha256(content).hexdigest(), "hmac": _sign(content, keys[0])}
    with writer.member(SEAL) as member:
        member.write(json.dumps({**seal, "check": _check(seal)}).encode())


@sensitive_variables("keys")
def read_manifest(reader: ArchiveReader, *, keys: Iterable[str]) -> Manifest:
    """Returns the manifest, which lists exactly the members of the archive. Raises `BackupError`."""
    if not {MANIFEST, SEAL} <= set(reader.names):
        raise BackupError(
            "The archive is cut off: its list of contents is missing. Copy it again, or use another backup."
        )
    content, seal = (_read(reader, name) for name in (MANIFEST, SEAL))
    found = _load(seal)
    if found.get("sha256") != hashlib.sha256(content).hexdigest() or found.get("check") != _check(found):
        raise BackupError("The archive is damaged: its list of contents was changed. Use another backup.")
    values = _load(content)
    if values.get("product") != "berth" or not isinstance(values.get("format"), int) or values["format"] > FORMAT:
        raise BackupError(
            "The archive was made by a newer version of Berth. Restore it with that version or a later one."
        )
    if not any(hmac.compare_digest(str(found.get("hmac")), _sign(content, key)) for key in keys):
        raise BackupError(WRONG_KEY)
    manifest = _build(values)
    named = {part.member: part.size for part in manifest.parts}
    if {name: reader.size(name) for name in reader.names if name not in {MANIFEST, SEAL}} != named:
        raise BackupError("The archive is damaged: its contents differ from its list of contents. Use another backup.")
    return manifest


def _read(reader: ArchiveReader, name: str) -> bytes:
    if reader.size(name) > LARGEST:
        raise BackupError(f"The archive is damaged: its {name} is too large. Use another backup.")
    content = reader.content(name)
    return b"".join(iter(content.read, b""))


def _load(content: bytes) -> dict[str, Any]:
    try:
        value = read_json(content)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BackupError("The archive is damaged: its list of contents cannot be read. Use another backup.")
    return value


def _build(values: dict[str, Any]) -> Manifest:
    """The manifest carries our seal, so if it does not fit, another version created it."""
    try:
        memory = values["memory"]
        tables = [Table(**each) for each in values["tables"]]
        memories = None if memory is None else [Memory(**each) for each in memory]
        manifest = Manifest(**{**values, "tables": tables, "memory": memories})
        fits = all(_is_shaped(each) for each in (manifest, *manifest.parts)) and _has_sense(manifest)
    except (TypeError, KeyError, ValueError):
        fits = False
    if not fits:
        raise BackupError("This version of Berth cannot read the archive. Restore it with the version that made it.")
    return manifest


def _is_shaped(part: Any) -> bool:
    kinds = get_type_hints(type(part))
    return all(_is_of(getattr(part, each.name), kinds[each.name]) for each in fields(part))


def _is_of(value: Any, kind: Any) -> bool:
    """Returns whether JSON has given a value of this type. `True` is no number, and text is short."""
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        return any(_is_of(value, each) for each in inner)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_is_of(each, inner[0]) for each in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(_is_of(each, inner[1]) for each in value.values())
    if kind is str:
        return isinstance(value, str) and len(value) <= LONGEST_TEXT
    return type(value) is kind


def _has_sense(manifest: Manifest) -> bool:
    shown = (manifest.version, manifest.instance, manifest.database, *(each.key for each in manifest.memory or []))
    return (
        manifest.made_at.tzinfo is not None
        and all(text.isprintable() for text in shown)
        and all(len(pair) == 2 for pair in manifest.migrations)
        and all(re.fullmatch("[0-9a-f]{64}", part.sha256) for part in manifest.parts)
    )


def _check(seal: dict[str, Any]) -> str:
    """Distinguishes a damaged seal from one that was made with another key."""
    return hashlib.sha256(f"{seal.get('sha256')} {seal.get('hmac')}".encode()).hexdigest()


@sensitive_variables("key")
def _sign(content: bytes, key: str) -> str:
    """Signs with a key of its own, which is derived from the encryption key and reveals nothing about it."""
    own = hmac.new(key.encode(), b"berth backup archive", hashlib.sha256).digest()
    return hmac.new(own, content, hashlib.sha256).hexdigest()
