"""Finds the most seconds of sound in an MP4 file with AAC (ISO/IEC 14496-12, 14496-1 and 14496-3). Pure."""

import struct
from array import array
from collections.abc import Iterator
from typing import NamedTuple

MOST_BOXES, MOST_TRACKS = 1000, 10
MOST_RUNS = 100_000
"""Entries of a table of durations. Files have a few."""
MOST_SIZES = 1_000_000
"""Entries of a table of sizes. To add up as many takes some milliseconds."""
_HOLDERS = (b"mdia", b"minf", b"stbl")
_RATES = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350)
_SAMPLES = 1024
"""Samples of a frame of AAC."""
_FRAME = 4
"""Bytes of a silent frame. Decoders read several from what the file calls one sample."""
_AAC = 0x40
_KINDS = (2, 5, 29)
"""AAC-LC and HE-AAC, whose frames have as many samples at the rate that is named first."""


class _Box(NamedTuple):
    name: bytes
    content: memoryview


class UnknownLengthError(ValueError):
    """The file is not written as programs write it, or has another codec."""


def mp4_seconds(file: bytes) -> float | None:
    """Returns None if the file does not tell, for example because it comes in fragments."""
    try:
        return _seconds(memoryview(file))
    except (ValueError, struct.error, IndexError):
        return None


def _seconds(file: memoryview) -> float:
    top = list(_boxes(file))
    movies = [each.content for each in top if each.name == b"moov"]
    if len(movies) != 1 or any(each.name == b"moof" for each in top):
        raise UnknownLengthError
    parts = list(_boxes(movies[0]))
    if any(each.name in (b"mvex", b"cmov") for each in parts):
        raise UnknownLengthError
    found = [each.content for each in parts if each.name == b"trak"]
    if len(found) > MOST_TRACKS:
        raise UnknownLengthError
    tracks = list(map(_track, found))
    stated = [_stated(each.content) for each in parts if each.name == b"mvhd"]
    sounds = [track for track in tracks if bytes(_one(track, b"hdlr")[8:12]) == b"soun"]
    if not sounds:
        raise UnknownLengthError
    return max([sum(map(_decoded, sounds)), *stated, *map(_longest_stated, tracks)])


def _boxes(content: memoryview) -> Iterator[_Box]:
    at = 0
    for _ in range(MOST_BOXES):
        if at == len(content):
            return
        size, name = struct.unpack_from(">I4s", content, at)
        head = 8
        if size == 1:
            (size,), head = struct.unpack_from(">Q", content, at + 8), 16
        end = at + size if size else len(content)
        if end < at + head or end > len(content):
            raise UnknownLengthError
        yield _Box(name, content[at + head : end])
        at = end
    raise UnknownLengthError


def _track(content: memoryview) -> dict[bytes, list[memoryview]]:
    """Returns the boxes of a track by name, those in others too."""
    found: dict[bytes, list[memoryview]] = {}
    left, seen = list(_boxes(content)), 0
    while left:
        box, seen = left.pop(), seen + 1
        if seen > MOST_BOXES:
            raise UnknownLengthError
        found.setdefault(box.name, []).append(box.content)
        left += _boxes(box.content) if box.name in _HOLDERS else ()
    return found


def _one(track: dict[bytes, list[memoryview]], name: bytes) -> memoryview:
    contents = track.get(name, [])
    if len(contents) != 1:
        raise UnknownLengthError
    return contents[0]


def _stated(header: memoryview) -> float:
    """Reads the duration in the header of a movie or of a track's media."""
    scale, duration = struct.unpack_from(">IQ", header, 20) if header[0] else struct.unpack_from(">II", header, 12)
    if not scale:
        raise UnknownLengthError
    return float(duration / scale)


def _longest_stated(track: dict[bytes, list[memoryview]]) -> float:
    header, runs = _one(track, b"mdhd"), _one(track, b"stts")
    scale = int.from_bytes(header[20:24] if header[0] else header[12:16], "big")
    (count,) = struct.unpack_from(">I", runs, 4)
    if count > MOST_RUNS or not scale:
        raise UnknownLengthError
    total = sum(samples * each for samples, each in struct.iter_unpack(">II", runs[8 : 8 + 8 * count]))
    return max(_stated(header), float(total / scale))


def _decoded(track: dict[bytes, list[memoryview]]) -> float:
    sizes = _one(track, b"stsz")
    each, count = struct.unpack_from(">II", sizes, 4)
    total = each * count
    if not each and count > MOST_SIZES:
        raise UnknownLengthError
    if not each:
        table = array("I", bytes(sizes[12 : 12 + 4 * count]))
        table.byteswap()
        total = sum(table)
    frames = int(total // _FRAME + count)
    return frames * _SAMPLES / _rate(bytes(_one(track, b"stsd")))


def _rate(descriptions: bytes) -> int:
    """Returns the sample rate of the only codec, which must be AAC."""
    at = descriptions.find(b"esds")
    if descriptions[4:8] != b"\x00\x00\x00\x01" or descriptions[12:16] != b"mp4a" or descriptions.count(b"esds") != 1:
        raise UnknownLengthError
    tag, at = _descriptor(descriptions, at + 8)
    if tag != 3 or descriptions[at + 2] & 0xE0:
        raise UnknownLengthError
    tag, at = _descriptor(descriptions, at + 3)
    if tag != 4 or descriptions[at] != _AAC:
        raise UnknownLengthError
    tag, at = _descriptor(descriptions, at + 13)
    kind, rate = descriptions[at] >> 3, (descriptions[at] & 7) << 1 | descriptions[at + 1] >> 7
    if tag != 5 or kind not in _KINDS or rate >= len(_RATES):
        raise UnknownLengthError
    return _RATES[rate]


def _descriptor(content: bytes, at: int) -> tuple[int, int]:
    """Returns the tag of the descriptor that begins here, and where its content begins."""
    tag = content[at]
    while content[at + 1] & 0x80:
        at += 1
    return tag, at + 2
