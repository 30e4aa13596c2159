"""Finds the attachments of a message, and decides how the agent handles each. Pure functions."""

import re
from enum import Enum, auto
from pathlib import PurePath
from typing import NamedTuple

from telegram import Message

from assistant.formatting.formatted import clean

MOST_BYTES = 20 * 1024 * 1024  # Telegram's limit for files that bots download
LONGEST_NAME = 100

IMAGES = ("image/jpeg", "image/png", "image/webp", "image/gif")
TEXTS: tuple[str, ...] = (
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
)
TEXTS += ("application/javascript", "application/x-sh", "application/sql", "application/csv", "application/x-subrip")
ENDINGS = re.compile(
    r"\.(txt|md|rst|[ct]sv|jsonl?|ya?ml|toml|ini|cfg|conf|log|xml|html|css|[jt]s|py|sh|c|h|cpp|rs|go|java|kt|rb|php|sql"
    r"|tex|srt|vtt|diff|patch|ics)"
)
"""File name extensions of text files. They count no matter which MIME type Telegram reports."""


class Kind(Enum):
    SOUND = auto()
    IMAGE = auto()
    PDF = auto()
    TEXT = auto()
    OTHER = auto()


class Attachment(NamedTuple):
    kind: Kind
    file_id: str
    size: int  # bytes; 0 if Telegram does not report it
    name: str
    mime: str


def attachments_of(message: Message) -> list[Attachment]:
    """Returns the files of a message, with a photo in its largest size. A place or a poll is no file."""
    if message.photo:
        photo = max(message.photo, key=lambda each: each.width * each.height)
        return [Attachment(Kind.IMAGE, photo.file_id, photo.file_size or 0, "photo.jpg", "image/jpeg")]
    if message.voice:
        voice = message.voice
        return [
            Attachment(Kind.SOUND, voice.file_id, voice.file_size or 0, "voice.ogg", voice.mime_type or "audio/ogg")
        ]
    found = message.audio or message.document
    if found is None:
        return []
    mime, name = (found.mime_type or "").lower(), _plain(found.file_name or "")
    kind = Kind.SOUND if message.audio else _kind_of(mime, name.lower())
    return [Attachment(kind, found.file_id, found.file_size or 0, name or "file", mime)]


def _kind_of(mime: str, name: str) -> Kind:
    if mime in IMAGES:
        return Kind.IMAGE
    if mime == "application/pdf":
        return Kind.PDF
    if mime.startswith("audio/"):
        return Kind.SOUND
    is_text = mime.startswith("text/") or mime in TEXTS or ENDINGS.fullmatch(PurePath(name).suffix) is not None
    return Kind.TEXT if is_text else Kind.OTHER


def _plain(name: str) -> str:
    """Returns the name without characters that could be mistaken for markup in the question to the model."""
    kept = "".join(letter if letter.isprintable() and letter not in '<>"[]' else " " for letter in clean(name))
    return " ".join(kept.split())[-LONGEST_NAME:]
