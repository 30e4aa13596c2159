"""Pictures, files and sounds in questions to a provider, and which of them it refuses."""

import base64
import binascii
import re
from typing import Any

from tests.fakes.messages import Answer, Request
from tests.fakes.provider_answers import Asked, refuse_with

SOUNDS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
_ADDRESS = re.compile(r"data:([\w./+-]+);base64,([A-Za-z0-9+/=]*)")


def files_in(asked: Asked) -> list[tuple[str, bytes]]:
    """Returns the kind and the content of each file in the last question.
    Raises ValueError for what no provider accepts."""
    content = asked.messages[-1].get("content") if asked.messages else None
    parts = content if isinstance(content, list) else []
    return [_decode(part) for part in parts if part.get("type") not in ("text", "tool_result")]


def calls_in(asked: Asked) -> list[str]:
    """Returns the ids of the calls in the request."""
    openai = [call["id"] for message in asked.messages for call in message.get("tool_calls") or []]
    return openai + [block["id"] for block in _blocks(asked, "tool_use")]


def results_in(asked: Asked) -> dict[str, str]:
    """Returns the answers of the tools by the ids of their calls."""
    openai = {each["tool_call_id"]: each["content"] for each in asked.messages if each.get("role") == "tool"}
    return openai | {block["tool_use_id"]: block["content"] for block in _blocks(asked, "tool_result")}


def _blocks(asked: Asked, kind: str) -> list[dict[str, Any]]:
    contents = [each["content"] for each in asked.messages if isinstance(each.get("content"), list)]
    return [block for content in contents for block in content if block.get("type") == kind]


def _decode(part: dict[str, Any]) -> tuple[str, bytes]:
    kind, source = part["type"], part.get("source")
    if isinstance(source, dict) and kind in ("image", "document") and source["type"] == "base64":
        return source["media_type"], base64.b64decode(source["data"], validate=True)
    address = {"image_url": "url", "file": "file_data"}[kind]
    found = _ADDRESS.fullmatch(part[kind][address])
    if found is None or (kind == "file" and not part["file"]["filename"]):
        raise ValueError("no data URL")
    return found[1], base64.b64decode(found[2], validate=True)


def find_bad_part(asked: Asked) -> str | None:
    """Checks that each call of a tool has its answer, as providers demand."""
    called, answered = calls_in(asked), results_in(asked)
    if called != list(answered):
        return "An assistant message with 'tool_calls' must be followed by tool messages."
    try:
        kinds = [kind for kind, _ in files_in(asked)]
    except (KeyError, TypeError, ValueError, binascii.Error):
        return "Invalid content part."
    known = ("image/jpeg", "image/png", "image/webp", "image/gif", "application/pdf")
    return None if all(kind in known for kind in kinds) else "Unsupported content type."


def transcription(asked: Asked, request: Request, text: str | None) -> Answer:
    if asked.vendor == "anthropic" or text is None:
        return Answer.json(404, {"error": {"message": "Invalid URL (POST /v1/audio/transcriptions)"}})
    name = re.search(rb'name="file"; filename="[^"]*\.(\w+)"', request.body)
    if not asked.model or name is None or name[1].decode() not in SOUNDS:
        return refuse_with(asked, 400, "Unrecognized file format.", "invalid_request_error", None)
    usage = {"type": "tokens", "input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    return Answer.json(200, {"text": text, "usage": usage})
