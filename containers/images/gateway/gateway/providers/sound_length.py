"""Finds the most seconds of sound that any server can read from a file, whose silence may take hardly a byte. Pure.

Only of some formats can that be told from the bytes: Ogg with Opus or Vorbis, WAV, MP3, and MP4 with AAC. A length that
the file states counts if it is longer, because a provider may charge by it.
"""

import re
import struct
from collections.abc import Callable

from gateway.providers.mp4_length import mp4_seconds
from gateway.providers.ogg_length import ogg_seconds
from gateway.providers.time_slices import Slices

MP3_BYTES_PER_SECOND = 1000
"""The lowest rate of MP3, and of MPEG audio as a whole."""
_MP3_RATES = (44_100, 48_000, 32_000)
_MP3_SAMPLES = 1152
"""The most in a frame."""
_MP3_COUNT = re.compile(rb"(?:Xing|Info)...[\x00-\xff](....)|VBRI.{10}(....)", re.DOTALL)
"""Where the first frame may state the number of frames."""
_PCM = (1, 3, 6, 7)
"""Codes of WAV for plain samples: integers, floats, A-law and mu-law."""
_EXTENSIBLE = 0xFFFE
MOST_CHUNKS, MOST_TAGS = 1000, 10


def longest_sound(file: bytes) -> Slices[float | None]:
    """Returns seconds, or None if the format does not tell."""
    if file.startswith(b"OggS"):
        return (yield from ogg_seconds(file))
    if file[4:8] == b"ftyp":
        return mp4_seconds(file)
    read: Callable[[bytes], float | None] = _wav_seconds if file.startswith(b"RIFF") else _mp3_seconds
    return read(file)


def _wav_seconds(file: bytes) -> float | None:
    found, at = list[float](), 12
    for _ in range(MOST_CHUNKS if file[8:12] == b"WAVE" else 0):
        name, size = file[at : at + 4], int.from_bytes(file[at + 4 : at + 8], "little")
        if name == b"fmt ":
            found.append(_wav_rate(file[at + 8 : at + 8 + size]))
        if name == b"data" or len(name) < 4:
            break
        at += 8 + size + size % 2
    return len(file) / found[0] if len(found) == 1 and found[0] else None


def _wav_rate(form: bytes) -> float:
    """Returns the bytes of a second; 0 for samples that are not plain."""
    if len(form) < 16:
        return 0
    code, channels, rate, bytes_per_second, frame, bits = struct.unpack_from("<HHIIHH", form)
    if code == _EXTENSIBLE and len(form) >= 26:
        code = int.from_bytes(form[24:26], "little")
    if code not in _PCM or bits % 8:
        return 0
    return float(min(bytes_per_second, rate * frame, rate * channels * bits // 8))


def _mp3_seconds(file: bytes) -> float | None:
    at = 0
    for _ in range(MOST_TAGS):
        if file[at : at + 3] != b"ID3" or len(file) <= at + 10:
            break
        flags, *digits = file[at + 5 : at + 10]
        at += 10 + sum((each & 127) << (7 * (3 - place)) for place, each in enumerate(digits)) + 10 * (flags >> 4 & 1)
    head = int.from_bytes(file[at : at + 4], "big")
    version, layer, bitrate, rate = head >> 19 & 3, head >> 17 & 3, head >> 12 & 15, head >> 10 & 3
    if head >> 21 != 0x7FF or version == 1 or layer == 0 or bitrate in (0, 15) or rate == 3:
        return None  # also frames of a free size
    stated = _MP3_COUNT.search(file, at, at + 200)
    frames = max((int.from_bytes(each, "big") for each in stated.groups() if each), default=0) if stated else 0
    slowest = _MP3_RATES[rate] // {3: 1, 2: 2, 0: 4}[version]
    return max(len(file) / MP3_BYTES_PER_SECOND, frames * _MP3_SAMPLES / slowest)
