"""Finds the most seconds of sound in an Ogg file with Opus or Vorbis (RFC 3533, RFC 6716, RFC 7845). Pure."""

from dataclasses import dataclass

from gateway.providers.time_slices import Slices

MOST_PACKETS = 1_000_000
"""More make a file whose length is not told: to read them takes the processor a second."""
PACKETS_PER_SLICE = 5000
_HEAD = 27
_CONTINUED, _BEGINS = 1, 2
_RATE = 48_000
"""Of Opus, always."""
_SILK, _HYBRID, _CELT = (480, 960, 1920, 2880), (480, 960), (120, 240, 480, 960)
_LONGEST = 5760
"""Samples of a packet of Opus: 120 ms."""
_FRAMES = 63


@dataclass(slots=True)
class _Stream:
    rate: float
    longest: int
    """Samples of a packet of Vorbis at most; 0 for Opus, whose packets tell."""
    is_open: bool = False
    """Whether a packet goes on in the next page."""
    samples: int = 0
    last: int = 0
    """The number of samples that the file states."""

    @property
    def seconds(self) -> float:
        return max(self.samples, self.last) / self.rate


class _Reader:
    def __init__(self) -> None:
        self.work = 0
        """How many pages and packets were read."""
        self.pages = 0
        self._streams: dict[int, _Stream] = {}
        self._ended = 0.0

    @property
    def seconds(self) -> float:
        return self._ended + sum(each.seconds for each in self._streams.values())

    def read_page(self, file: bytes, at: int) -> int:
        """Returns where the page ends; 0 if it cannot be read."""
        head = file[at : at + _HEAD]
        if len(head) < _HEAD or not head.startswith(b"OggS\x00"):
            return 0
        begin = at + _HEAD + head[-1]
        sizes = file[at + _HEAD : begin]
        end, number = begin + sum(sizes), int.from_bytes(head[14:18], "little")
        if head[5] & _BEGINS:
            self._begin(number, file[begin:end])
        stream = self._streams.get(number)
        if stream is None or end > len(file) or len(sizes) < head[-1]:
            return 0
        self.pages += 1
        self.work += 1 + _count(stream, file, begin, sizes, is_continued=bool(head[5] & _CONTINUED))
        stream.last = max(stream.last, int.from_bytes(head[6:14], "little", signed=True))
        return end

    def _begin(self, number: int, packet: bytes) -> None:
        if before := self._streams.pop(number, None):
            self._ended += before.seconds
        if stream := _identify(packet):
            self._streams[number] = stream


def ogg_seconds(file: bytes) -> Slices[float | None]:
    """Returns None if a stream has another codec, or if servers may find other pages in the file."""
    reader, at, pause = _Reader(), 0, PACKETS_PER_SLICE
    while at < len(file):
        at = reader.read_page(file, at)
        if not at or reader.work > MOST_PACKETS:
            return None
        if reader.work > pause:
            pause = reader.work + PACKETS_PER_SLICE
            yield
    # A server that doubts a page looks for others inside of it.
    return reader.seconds if file.count(b"OggS") == reader.pages else None


def _identify(packet: bytes) -> _Stream | None:
    if packet.startswith(b"OpusHead"):
        return _Stream(_RATE, 0)
    if packet.startswith(b"\x01vorbis") and len(packet) > 28 and any(packet[12:16]):
        return _Stream(int.from_bytes(packet[12:16], "little"), 2 ** (packet[28] >> 4))
    return None


def _count(stream: _Stream, file: bytes, at: int, sizes: bytes, *, is_continued: bool) -> int:
    """Adds the packets that begin in this page. Returns their number."""
    is_new, packets = not (is_continued and stream.is_open), 0
    for size in sizes:
        if is_new:
            packets += 1
            stream.samples += stream.longest or _opus_samples(file[at : at + min(size, 2)])
        at += size
        is_new = size < 255
    stream.is_open = not is_new if sizes else stream.is_open
    return packets


def _opus_samples(packet: bytes) -> int:
    """Returns the samples of a packet, which begins like this."""
    if not packet:
        return _LONGEST  # what is lost takes as long as the packet before
    kind, frames = packet[0] >> 3, (1, 2, 2, _FRAMES)[packet[0] & 3]
    if frames == _FRAMES and len(packet) > 1:
        frames = packet[1] & _FRAMES
    if kind < 12:
        return frames * _SILK[kind & 3]
    return frames * (_HYBRID[kind & 1] if kind < 16 else _CELT[kind & 3])
