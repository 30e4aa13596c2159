"""No server can read more seconds from a sound than the gateway has found, and ordinary ones fit small budgets."""

import random

import pytest
from gateway.providers.ogg_length import MOST_PACKETS
from gateway.providers.sound_length import longest_sound
from gateway.providers.time_slices import run_at_once

from tests.gateway.sounds import LONG_SILENCE, SILENCE, VOICE, box, mp3, mp4, ogg, vorbis, wav

pytestmark = pytest.mark.one_database


def seconds_of(file: bytes) -> float | None:
    return run_at_once(longest_sound(file))


HOUR = 3600.0
SILENT: dict[str, tuple[bytes, float]] = {
    "Opus": (ogg([LONG_SILENCE[0]] * 30_000), HOUR),
    "lost packets of Opus": (ogg([b""] * 30_000), HOUR),
    "Opus in two streams": (ogg([SILENCE[0]] * 30_000) + ogg([SILENCE[0]] * 30_000), HOUR),
    "Opus in two tracks": (ogg([SILENCE[0]] * 30_000) + ogg([SILENCE[0]] * 30_000, number=8), HOUR),
    "Opus that states an hour": (ogg([VOICE[0]] * 10, seconds=HOUR), HOUR),
    "Vorbis": (vorbis(3600, rate=8192, block=13), HOUR),
    "WAV of a slow rate": (wav(3600, rate=1, bits=8), HOUR),
    "WAV that states a slow rate": (wav(3600, stated=1), HOUR),
    "MP3": (mp3(100_000), HOUR),
    "MP3 that states an hour": (mp3(10, stated=100_000), HOUR),
    "MP3 behind a tag": (mp3(10, stated=100_000, tag=b"ID3\4\0\0\0\0\1\0" + bytes(128)), HOUR),
    "AAC": (mp4([6] * 155_100), HOUR),
    "AAC with several frames in one": (mp4([4 * 1000] * 156), HOUR),
    "AAC that states an hour": (mp4([6] * 10, stated=3600 * 44_100), HOUR),
    "AAC that states as many frames": (mp4([6] * 10, constant=(4, 155_100)), HOUR),
    "AAC of a slow rate": (mp4([6] * 25_900, rate=7350, index=12), HOUR),
}  # fmt: skip


@pytest.mark.parametrize("kind", SILENT)
def test_silence_counts_as_long_as_it_lasts(kind: str) -> None:
    file, seconds = SILENT[kind]
    found = seconds_of(file)
    assert found is not None
    assert found >= seconds - 1


ORDINARY: dict[str, tuple[bytes, float, float]] = {
    "Opus": (ogg([VOICE[0]] * 3000, seconds=60.0), 60.0, 1.1),
    "WAV": (wav(60 * 32_000), 60.0, 1.1),
    "MP3 at 64 kbit/s": (mp3(1667, bitrate=8), 60.0, 9.0),
    "AAC at 64 kbit/s": (mp4([186] * 2584), 60.0, 50.0),
}


@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_sound_counts_hardly_more_than_it_lasts(kind: str) -> None:
    file, seconds, factor = ORDINARY[kind]
    found = seconds_of(file)
    assert found is not None
    assert seconds <= found <= factor * seconds + 2


UNTOLD: dict[str, bytes] = {
    "nothing": b"", "zeros": bytes(1000), "FLAC": b"fLaC" + bytes(1000), "WebM": b"\x1aE\xdf\xa3" + bytes(1000),
    "AMR": b"#!AMR\n" + bytes(1000), "Ogg with another codec": ogg([b"a"], head=b"\x7fFLAC"),
    "Ogg within Ogg": ogg([ogg([SILENCE[0]] * 10)]), "Ogg that ends early": ogg([VOICE[0]] * 10)[:-1],
    "something between the pages": ogg([VOICE[0]]) + b"a" + ogg([VOICE[0]]),
    "too many packets": ogg([b"\x58"] * (MOST_PACKETS + 1)), "compressed WAV": wav(100, code=2),
    "WAV of no rate": wav(100, rate=0), "WAV with two forms": wav(100).replace(b"data", wav(0)[12:36] + b"data"),
    "MP3 with frames of any size": mp3(10, bitrate=0), "a tag before another format": b"ID3\4\0\0\0\0\0\0fLaC",
    "MP4 in fragments": mp4([6]) + box(b"moof"), "MP4 for fragments": mp4([6], more=box(b"mvex")),
    "compressed MP4": mp4([6], more=box(b"cmov")), "MP4 with another codec": mp4([6], codec=b"alac"),
    "MP3 in MP4": mp4([6], object_type=0x6B), "AAC of any rate": mp4([6], index=15),
    "MP4 with many tracks": mp4([6], more=box(b"trak", box(b"mdia")) * 10),
    "many tags": b"ID3\4\0\0\0\0\0\0" * 11 + mp3(9),
    "MP4 with many boxes": mp4([6], more=box(b"trak", box(b"mdia", box(b"free") * 999), box(b"free") * 2)),
    "MP4 with two codecs": mp4([6], count=2), "MP4 without a sound": mp4([6]).replace(b"soun", b"vide"),
    "MP4 with a box that ends late": mp4([6])[:-1], "only the beginning": mp4([6])[:8],
}  # fmt: skip


@pytest.mark.parametrize("kind", UNTOLD)
def test_the_length_of_any_other_sound_is_not_told(kind: str) -> None:
    assert seconds_of(UNTOLD[kind]) is None


@pytest.mark.parametrize("kind", SILENT)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.sampled(10)
def test_no_damage_breaks_the_reader(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")
    file = bytearray(SILENT[kind][0][:5000])
    for _ in range(chance.randrange(1, 20)):
        file[chance.randrange(len(file))] = chance.randrange(256)
    found = seconds_of(bytes(file[: chance.randrange(len(file))]))
    assert found is None or found >= 0


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sampled(10)
def test_generated_packets_of_opus_count_exactly(seed: int) -> None:
    """By the table of RFC 6716, 3.1 and 3.2."""
    chance, packets, seconds = random.Random(seed), list[bytes](), 0.0
    for _ in range(chance.randrange(1, 400)):
        kind, code, frames = chance.randrange(32), chance.randrange(4), chance.randrange(1, 49)
        if kind < 12:
            length = (10.0, 20.0, 40.0, 60.0)[kind % 4]
        else:
            length = (10, 20)[kind % 2] if kind < 16 else (2.5, 5, 10, 20)[kind % 4]
        seconds += length / 1000 * (1, 2, 2, frames)[code]
        second = bytes([frames | chance.choice([0, 64, 128])]) if code == 3 else b""
        packets.append(
            bytes([kind << 3 | chance.choice([0, 4]) | code]) + second + bytes(chance.choice([0, 1, 40, 600]))
        )
    headers = 0.96 + 0.96  # which count like packets
    assert seconds_of(ogg(packets)) == pytest.approx(seconds + headers)
