"""The texts and entities that Telegram refuses."""

import json
import unicodedata
from typing import Any

from tests.fakes.telegram_errors import ApiError

LONGEST_MESSAGE = 4096  # UTF-16 code units
KINDS = {"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote", "code"}
KINDS |= {"pre", "text_link", "text_mention", "custom_emoji"}


def check_text(text: str, entities: list[dict[str, Any]], *, may_be_empty: bool = False) -> None:
    """Raises ApiError as Telegram would."""
    if all(unicodedata.category(letter)[0] in "ZC" for letter in text) and not may_be_empty:
        raise ApiError(400, "Bad Request: message text is empty")
    try:
        encoded = text.encode("utf-16-le")
    except UnicodeEncodeError:
        raise ApiError(400, "Bad Request: strings must be encoded in UTF-8") from None
    if len(encoded) // 2 > LONGEST_MESSAGE:
        raise ApiError(400, "Bad Request: message is too long")
    for entity in entities:
        _check_entity(entity, encoded)


def read_entities(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Refuses `parse_mode`, because a text from others can break it. Texts must be sent with entities."""
    if fields.get("parse_mode"):
        raise ApiError(400, "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 0")
    given = fields.get("entities") or []
    found: list[dict[str, Any]] = json.loads(given) if isinstance(given, str) else given
    return found


def _check_entity(entity: dict[str, Any], encoded: bytes) -> None:
    start, length = int(entity["offset"]), int(entity["length"])
    end = start + length
    if entity["type"] not in KINDS:
        raise ApiError(400, f"Bad Request: unsupported entity type {entity['type']}")
    if start < 0 or length <= 0 or end * 2 > len(encoded):
        raise ApiError(400, "Bad Request: ENTITY_BOUNDS_INVALID")
    for place in (start, end):
        if 0 < place * 2 < len(encoded) and 0xDC <= encoded[place * 2 + 1] <= 0xDF:
            raise ApiError(400, "Bad Request: ENTITY_BOUNDS_INVALID")
    if entity["type"] == "text_link" and not entity.get("url"):
        raise ApiError(400, "Bad Request: ENTITY_TEXTURL_INVALID")
