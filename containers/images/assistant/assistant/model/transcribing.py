"""Has the provider transcribe a sound file."""

import json
from pathlib import Path
from typing import Any

import httpx

from assistant.model.completion import Completion, StatusError
from assistant.model.events import as_object, read_document

UNSUPPORTED_STATUSES = (400, 403, 404, 405, 410, 415, 422, 501)
"""The statuses of a provider that does not know the path, the model or the format."""


async def transcribe(
    client: httpx.AsyncClient, path: Path, *, name: str, mime: str, model: str, headers: dict[str, str]
) -> Completion:
    """Returns the transcript. Streams the file from disk. Raises StatusError, `httpx.TransportError` and ValueError."""
    with path.open("rb") as file:
        form: dict[str, Any] = {"file": (name, file, mime or "application/octet-stream")}
        facts = {"model": model, "response_format": "json"}
        async with client.stream("POST", "/audio/transcriptions", files=form, data=facts, headers=headers) as answer:
            content = await read_document(answer.aiter_bytes())
    if not answer.is_success:
        raise StatusError(answer.status_code, content.decode("utf-8", "replace"), answer.headers)
    document = as_object(json.loads(content))
    completion = Completion(is_complete=True)
    completion.add(document.get("text"))
    usage = document.get("usage")
    if isinstance(usage, dict):
        completion.count(usage.get("input_tokens"), usage.get("output_tokens"))
    return completion
