"""Reads the form of an audio upload. The form itself is passed on unchanged."""

import re
from typing import NamedTuple

_BOUNDARY = re.compile(r'boundary=(?:"([^"\r\n]{1,70})"|([^\s;",]{1,70}))')
_HIDDEN_NAME = re.compile(rb"[;\s]name\s*\*", re.IGNORECASE)
"""Another way to write a field's name (`name*`), which not every parser supports."""
MAX_PARTS = 100
_PLAIN_FIELDS = re.compile(
    rb"chunking_strategy|context_bias|diari[sz]e|file|hotwords|include|known_speaker_(?:name|reference)s|language|model"
    rb"|num_speakers|prompt|repetition_penalty|response_format|seed|stream|temperature|timestamp_granularities"
    rb"|to_language|top_[pk]|user|vad_filter"
)
"""Fields that add nothing to the audio in the form, also as a list (`include[]`)."""
_NAME_PARAMETER = re.compile(rb"[;\s]name\s*=", re.IGNORECASE)
_NAME = re.compile(rb'content-disposition:[^\r\n]*[;\s]name="?([^";\r\n]*)"?', re.IGNORECASE)


class Form(NamedTuple):
    model: str
    adds_hidden_input: bool
    """Whether the provider may fetch the audio (`url` of Groq, `file_url` and `file_id` of Mistral), so that its length
    is unknown."""


def read_form(content_type: str, body: bytes) -> Form | None:
    """Returns None unless the form names exactly one model."""
    found = _BOUNDARY.search(content_type)
    if not content_type.lower().startswith("multipart/form-data") or found is None or not content_type.isascii():
        return None
    boundary = b"--" + (found[1] or found[2]).encode()
    if content_type.lower().count("boundary") > 1 or body.count(boundary) > MAX_PARTS:
        return None
    models, adds_hidden_input = [], False
    for part in body.split(boundary):
        head, _, value = part.partition(b"\r\n\r\n")
        names = _NAME.findall(head)
        adds_hidden_input = adds_hidden_input or not _is_plain(head, names)
        if [name.lower() for name in names] == [b"model"]:
            models.append(value.removesuffix(b"\r\n"))
        elif _HIDDEN_NAME.search(head) or (b"model" in head.lower() and len(names) != 1):
            return None
    return Form(models[0].decode(), adds_hidden_input) if len(models) == 1 and models[0].isascii() else None


def _is_plain(head: bytes, names: list[bytes]) -> bool:
    """Whether this is the head of a plain field, or the end of the form."""
    if not head.strip(b"-\r\n"):
        return True
    has_one_name = len(names) == len(_NAME_PARAMETER.findall(head)) == 1
    return has_one_name and _PLAIN_FIELDS.fullmatch(names[0].partition(b"[")[0]) is not None
