"""Reads the form of an audio upload. The form itself is passed on unchanged."""

import re

_BOUNDARY = re.compile(r'boundary=(?:"([^"\r\n]{1,70})"|([^\s;",]{1,70}))')
_HIDDEN_NAME = re.compile(rb"[;\s]name\s*\*", re.IGNORECASE)
"""Another way to write a field's name (`name*`), which not every parser supports."""
MAX_PARTS = 100
_NAME = re.compile(rb'content-disposition:[^\r\n]*[;\s]name="?([^";\r\n]*)"?', re.IGNORECASE)


def read_form_model(content_type: str, body: bytes) -> str | None:
    """Returns the model named in a form, or None unless it names exactly one."""
    found = _BOUNDARY.search(content_type)
    if not content_type.lower().startswith("multipart/form-data") or found is None or not content_type.isascii():
        return None
    boundary = b"--" + (found[1] or found[2]).encode()
    if content_type.lower().count("boundary") > 1 or body.count(boundary) > MAX_PARTS:
        return None
    models = []
    for part in body.split(boundary):
        head, _, value = part.partition(b"\r\n\r\n")
        names = _NAME.findall(head)
        if [name.lower() for name in names] == [b"model"]:
            models.append(value.removesuffix(b"\r\n"))
        elif _HIDDEN_NAME.search(head) or (b"model" in head.lower() and len(names) != 1):
            return None
    return models[0].decode() if len(models) == 1 and models[0].isascii() else None
