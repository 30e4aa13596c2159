"""Writes sounds in the formats of which the gateway can tell the length, with any silence in them."""

import struct
from collections.abc import Iterable

VOICE = (b"\x48" + bytes(119), 0.02)
"""A packet of Opus with 20 ms at 48 kbit/s, and its seconds."""
SILENCE = (b"\x58", 0.06)
LONG_SILENCE = (b"\x5b\x02", 0.12)
"""The most that a packet of Opus has, in two bytes."""


def ogg(packets: Iterable[bytes], *, seconds: float = 0.0, head: bytes = b"OpusHead\x01\x01", number: int = 7) -> bytes:
    """`seconds` is what the file states."""
    granule = round(seconds * 48_000)
    pages = [_page([head], number, kind=2), _page([b"OpusTags"], number)]
    left = list(packets)
    pages += [_page(left[first : first + 50], number, granule=granule) for first in range(0, len(left), 50)]
    return b"".join(pages)


def _page(packets: list[bytes], number: int, *, kind: int = 0, granule: int = 0) -> bytes:
    sizes = b"".join(b"\xff" * (len(each) // 255) + bytes([len(each) % 255]) for each in packets)
    head = struct.pack("<4sBBqIIIB", b"OggS", 0, kind, granule, number, 0, 0, len(sizes))
    return head + sizes + b"".join(packets)


def vorbis(packets: int, *, rate: int, block: int) -> bytes:
    head = b"\x01vorbis" + struct.pack("<IBIiiiB", 0, 1, rate, 0, 0, 0, block << 4 | 8) + b"\x01"
    return ogg([b"\x00"] * packets, head=head)


def wav(size: int, *, rate: int = 16_000, channels: int = 1, bits: int = 16, code: int = 1, stated: int = 0) -> bytes:
    frame = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, rate, stated or rate * frame, frame, bits)
    parts = b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", size) + bytes(size)
    return b"RIFF" + struct.pack("<I", 4 + len(parts)) + b"WAVE" + parts


def mp3(frames: int, *, stated: int = 0, bitrate: int = 1, tag: bytes = b"") -> bytes:
    """MPEG 2 at 16 kHz: a frame has 36 ms. `bitrate` 1 is 8 kbit/s."""
    size = 72 * (8000 * bitrate) // 16_000
    first = b"\xff\xf3" + bytes([bitrate << 4 | 8, 0xC0])
    info = b"Xing\x00\x00\x00\x01" + stated.to_bytes(4, "big") if stated else b""
    return tag + b"".join(
        (first + bytes(9) + (info if number == 0 else b"")).ljust(size, b"\0") for number in range(frames)
    )


def box(name: bytes, *contents: bytes) -> bytes:
    content = b"".join(contents)
    return struct.pack(">I4s", 8 + len(content), name) + content


def mp4(
    sizes: list[int], *, rate: int = 44_100, index: int = 4, stated: int = 0, constant: tuple[int, int] | None = None,
    codec: bytes = b"mp4a", object_type: int = 0x40, more: bytes = b"", count: int = 1,
) -> bytes:  # fmt: skip
    """`sizes` are those of the frames; `constant` states the size and the number of frames instead."""
    config = bytes([2 << 3 | index >> 1, (index & 1) << 7])
    decoder = bytes([object_type]) + bytes(12) + b"\x05\x80\x80\x02" + config
    stream = b"\0\1\0" + b"\x04" + bytes([len(decoder)]) + decoder
    described = box(codec, bytes(28), box(b"esds", bytes(4), b"\x03\x80\x80\x80" + bytes([len(stream)]) + stream))
    length = stated or len(sizes) * 1024
    if constant is None:
        table = struct.pack(">III", 0, 0, len(sizes)) + b"".join(each.to_bytes(4, "big") for each in sizes)
    else:
        table = struct.pack(">III", 0, *constant)
    tables = box(
        b"stbl",
        box(b"stsd", struct.pack(">II", 0, count), described),
        box(b"stts", struct.pack(">IIII", 0, 1, len(sizes), 1024)),
        box(b"stsz", table),
    )
    media = box(
        b"mdia",
        box(b"mdhd", struct.pack(">IIIII", 0, 0, 0, rate, length), bytes(4)),
        box(b"hdlr", bytes(8), b"soun", bytes(13)),
        box(b"minf", tables),
    )
    movie = box(b"moov", box(b"mvhd", struct.pack(">IIIII", 0, 0, 0, 1000, 0), bytes(80)), box(b"trak", media), more)
    return box(b"ftyp", b"M4A ", bytes(4)) + movie + box(b"mdat", bytes(sum(sizes)))
