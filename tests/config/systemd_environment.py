"""The variables that systemd reads from an EnvironmentFile, by the rules of systemd.exec(5) and as systemd 252 does."""

ENDS, BLANKS = "\n\r", " \t\n\r"
ESCAPED = '"\\`$'
"""What a backslash within double quotation marks stands before. Before others it stays."""


class NotReadError(Exception):
    """systemd ignores the whole file."""


def read_as_systemd(content: bytes) -> dict[str, str]:
    """Returns the variables whose names are valid. Raises `NotReadError`."""
    text, at, found = content.partition(b"\0")[0].decode("utf-8", "surrogateescape"), 0, {}
    while at < len(text):
        if text[at] in BLANKS:
            at += 1
        elif text[at] in "#;":
            at = _end_of_comment(text, at)
        else:
            name, at = _read_name(text, at)
            if name is not None:
                value, at = _read_value(text, at)
                _require_text(name + value)
                found[name] = value
    return {name: value for name, value in found.items() if _is_valid(name)}


def _require_text(text: str) -> None:
    for character in text:
        number = ord(character)
        if 0xD800 <= number <= 0xDFFF or 0xFDD0 <= number <= 0xFDEF or number & 0xFFFE == 0xFFFE:
            raise NotReadError


def _is_valid(name: str) -> bool:
    return name.isascii() and name.isidentifier()


def _end_of_comment(text: str, at: int) -> int:
    """Before version 254 a backslash takes the end of the line, too."""
    while at < len(text) and text[at] not in ENDS:
        at += 2 if text[at] == "\\" else 1
    return at


def _read_name(text: str, at: int) -> tuple[str | None, int]:
    """An equals sign that is the first character belongs to the name."""
    begin, at = at, at + 1
    while at < len(text) and text[at] not in ENDS:
        if text[at] == "=":
            return text[begin:at].rstrip(BLANKS), at + 1
        at += 1
    return None, at


def _read_value(text: str, at: int) -> tuple[str, int]:
    """Quoted parts may follow each other. Of a part without quotation marks the blanks at its end are left out."""
    value = ""
    while at < len(text) and text[at] not in ENDS:
        if text[at] in BLANKS:
            at += 1
        elif text[at] == "'":
            end = text.find("'", at + 1)
            end = len(text) if end < 0 else end
            value, at = value + text[at + 1 : end], end + 1
        elif text[at] == '"':
            part, at = _read_double(text, at + 1)
            value += part
        else:
            part, at = _read_bare(text, at)
            return value + part, at
    return value, at


def _read_double(text: str, at: int) -> tuple[str, int]:
    value = ""
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
            value += text[at] if text[at] in ESCAPED else "" if text[at] == "\n" else "\\" + text[at]
        elif text[at] != "\\":
            value += text[at]
        at += 1
    return value, at + 1


def _read_bare(text: str, at: int) -> tuple[str, int]:
    value, kept = "", 0
    while at < len(text) and text[at] not in ENDS:
        if text[at] == "\\":
            at += 1
            value += text[at : at + 1] if text[at : at + 1] not in tuple(ENDS) else ""
            kept = len(value)
        else:
            value += text[at]
            kept = kept if text[at] in BLANKS else len(value)
        at += 1
    return value[:kept], at
