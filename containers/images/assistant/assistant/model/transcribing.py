"""Has the provider write down what a sound says."""

import json
from pathlib import Path
from typing import Any

import httpx

from assistant.model.events import as_object, read_document
from assistant.model.heard import Heard, StatusError

CANNOT = (400, 403, 404, 405, 410, 415, 422, 501)
"""What a provider answers that does not know the path, the model or the format."""


async def transcribe(
    client: httpx.AsyncClient, path: Path, *, name: str, mime: str, model: str, headers: dict[str, str]
) -> Heard:
    """Raises StatusError, `httpx.TransportError` and ValueError. The file is read while it is sent."""
    with path.open("rb") as file:
        form: dict[str, Any] = {"file": (name, file, mime or "application/octet-stream")}
        facts = {"model": model, "response_format": "json"}
        async with client.stream("POST", "/audio/transcriptions", files=form, data=facts, headers=headers) as answer:
            content = await read_document(answer.aiter_bytes())
    if not answer.is_success:
        raise StatusError(answer.status_code, content.decode("utf-8", "replace"), answer.headers)
    document = as_object(json.loads(content))
    heard = Heard(is_complete=True)
    heard.add(document.get("text"))
    usage = document.get("usage")
    if isinstance(usage, dict):
        heard.count(usage.get("input_tokens"), usage.get("output_tokens"))
    return heard
