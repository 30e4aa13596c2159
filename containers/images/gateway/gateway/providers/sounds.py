"""What a form says that uploads a sound. The form itself is passed on as it came."""

import re

_BOUNDARY = re.compile(r'boundary=(?:"([^"\r\n]{1,70})"|([^\s;",]{1,70}))')
_NAME = re.compile(rb'content-disposition:[^\r\n]*[;\s]name="?([^";\r\n]*)"?', re.IGNORECASE)


def read_model(content_type: str, body: bytes) -> str | None:
    """The model that a form names, or None where it does not name exactly one."""
    found = _BOUNDARY.search(content_type)
    if not content_type.lower().startswith("multipart/form-data") or found is None:
        return None
    models = []
    for part in body.split(b"--" + (found[1] or found[2]).encode()):
        head, _, value = part.partition(b"\r\n\r\n")
        names = _NAME.findall(head)
        if [name.lower() for name in names] == [b"model"]:
            models.append(value.removesuffix(b"\r\n"))
        elif b"model" in head.lower() and len(names) != 1:
            return None
    if len(models) != 1 or not models[0].isascii() or len(models[0]) > 256:
        return None
    return models[0].decode()
