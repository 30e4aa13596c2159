"""Reads the form of an audio upload. The form itself is passed on unchanged.

Servers read odd forms differently, so the gateway could check another model than the provider uses. It accepts only
forms as common clients write them, which all servers read alike.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gateway.rules.refusals import RefusedError, Why

MAX_PARTS = 100
MAX_HEAD = 2048
"""Bytes of the headers of one part."""

_TYPE = re.compile(
    r"multipart/form-data(?:; ?charset=utf-8)?; ?boundary=(\"?)([\w'+./:=-]{1,70})\1", re.IGNORECASE | re.ASCII
)
_DISPOSITION = re.compile(
    rb"""content-disposition:[ \t]*form-data;[ ]?name=("?)([\w.\[\]-]{1,100})\1
    (?P<file>(?:;[ ]?filename(?:="[^"\\\x00-\x1f\x7f]*"|=[\w!\#$%&'*+.^`|~-]+|\*=utf-8''[\w!\#$%&+.^`|~-]*)){0,2})""",
    re.IGNORECASE | re.VERBOSE,
)
_OTHER_HEADERS = re.compile(
    rb"""content-length:[ \t]*\d{1,12}
    |content-transfer-encoding:[ \t]*(?:binary|7bit|8bit)
    |content-type:[ \t]*[\w!\#$&.+^-]+/[\w!\#$&.+^-]+
    (?:;[ \t]*(?:charset="?(?:utf-8|us-ascii|iso-8859-1)"?|(?!charset)[\w-]+="?[\w.+-]*"?))*""",
    re.IGNORECASE | re.VERBOSE,
)
"""Other encodings and character sets could turn a value into another one."""
_PLAIN_FIELDS = re.compile(
    r"chunking_strategy|context_bias|diari[sz]e|file|hotwords|include|known_speaker_(?:name|reference)s|language|model"
    r"|num_speakers|prompt|repetition_penalty|response_format|seed|stream|temperature|timestamp_granularities"
    r"|to_language|top_[pk]|user|vad_filter"
)
"""Fields that add nothing to the audio in the form, also as a list (`include[]`)."""


class Form(NamedTuple):
    model: str
    names: frozenset[str]
    """The names of the fields, those of lists without their brackets."""

    @property
    def adds_hidden_input(self) -> bool:
        """Whether the provider may fetch the audio (`url` of Groq, `file_url` and `file_id` of Mistral), so that its
        length is unknown."""
        return not all(map(_PLAIN_FIELDS.fullmatch, self.names))


class _Field(NamedTuple):
    name: str
    is_file: bool
    value: bytes


def read_form(content_type: str, body: bytes) -> Form:
    """Raises RefusedError if servers may read the form differently, or unless it names exactly one model."""
    fields = list(_fields(content_type, body))
    models = [field for field in fields if field.name.partition("[")[0].lower() == "model"]
    if len(models) != 1 or models[0].name != "model" or models[0].is_file or not models[0].value.isascii():
        raise RefusedError(Why.BAD, "The form must name one model.")
    return Form(models[0].value.decode(), frozenset(field.name.partition("[")[0] for field in fields))


def _fields(content_type: str, body: bytes) -> Iterator[_Field]:
    found = _TYPE.fullmatch(content_type)
    if found is None:
        raise RefusedError(Why.BAD, "Send the audio as multipart/form-data with a boundary of letters and digits.")
    boundary = b"--" + found[2].encode()
    if body.count(boundary) > MAX_PARTS:
        raise RefusedError(Why.BAD, f"The form must have fewer than {MAX_PARTS} fields.")
    first, *parts = body.split(boundary)
    if first or not parts or parts.pop() not in (b"--", b"--\r\n"):
        raise _odd("the beginning or the end")
    yield from map(_read_part, parts)


def _read_part(part: bytes) -> _Field:
    end = part.find(b"\r\n\r\n", 0, MAX_HEAD)
    if not part.startswith(b"\r\n") or not part.endswith(b"\r\n") or end < 0 or len(part) < end + len(b"\r\n\r\n\r\n"):
        raise _odd("a boundary")
    lines = part[2:end].split(b"\r\n")
    found = [named for line in lines if (named := _DISPOSITION.fullmatch(line))]
    if len(found) != 1 or not all(_OTHER_HEADERS.fullmatch(line) for line in lines if line != found[0].string):
        raise _odd("the headers of a field")
    return _Field(found[0][2].decode(), bool(found[0]["file"]), part[end + 4 : -2])


def _odd(part: str) -> RefusedError:
    return RefusedError(Why.BAD, f"Servers may disagree about {part} of this form. Let an HTTP library write the form.")
