"""Whole chunks bypass the parser, and no data is lost, duplicated or mistaken for a chunk."""

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateway.pipes.chunks import payload_of_chunk
from gateway.pipes.piece_filter import BrokenError
from gateway.pipes.upstream_connection import UpstreamConnection

from tests.gateway.relaying import HEAD, Scene, chunk, run

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    "data", [b"1\r\n\n\r\n", b"4\r\nabc\n\r\n", b"A\r\n" + b"a" * 9 + b"\n\r\n", chunk(b"a\n" * 5000)]
)
def test_a_complete_chunk_is_recognised(data: bytes) -> None:
    assert chunk(payload_of_chunk(data)).partition(b"\r\n")[2] == data.partition(b"\r\n")[2]


@pytest.mark.parametrize("data", [
    b"", b"\n\r\n", b"0\r\n\r\n", b"\r\n\n\r\n", b"4\r\nabcd\r\n", b"3\r\nabc\n\r\n", b"5\r\nabc\n\r\n",
    b"4;a=b\r\nabc\n\r\n", b"+4\r\nabc\n\r\n", b" 4\r\nabc\n\r\n", b"4 \r\nabc\n\r\n", b"-4\r\nabc\n\r\n",
    b"0x4\r\nabc\n\r\n", b"04\r\nabc\n\r\n", b"bC\r\n" + b"a" * 187 + b"\n\r\n",
    b"4_0\r\n" + b"a" * 63 + b"\n\r\n", b"000000004\r\nabc\n\r\n", b"4\nabc\n\r\n",
    b"4\r\nabc\n\r\n4\r\nabc\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\n\r\n",
])  # fmt: skip
def test_anything_else_is_read_by_the_parser(data: bytes) -> None:
    assert payload_of_chunk(data) == b""


class Agent:
    """Records the received data, and the number of whole chunks."""

    def __init__(self, incoming: UpstreamConnection) -> None:
        self._incoming = incoming
        self.came = b""
        self.whole = 0

    def data_arrived(self) -> None:
        content = self._incoming._payload
        self.came += content.read_nowait() if content else b""

    def chunk_arrived(self, _chunk: bytes, text: bytes) -> bool:
        self.came += text
        self.whole += 1
        return True


def make_chunk(chance: random.Random) -> tuple[bytes, bytes]:
    text = b"".join(
        chance.choices([b"\n", b"\r\n", b"0\r\n\r\n", b"a", b"4\r\n", b"data: {}\n\n"], k=chance.randint(1, 5))
    )
    head = chance.choice([b"%x", b"%X", b"0%x", b"%x;a=b"]) % len(text)
    return text, b"%b\r\n%b\r\n" % (head, text)


def test_a_body_cut_at_any_byte_arrives_unchanged() -> None:
    chance, whole = random.Random(11), 0
    for _ in range(400):
        incoming = UpstreamConnection(cast(Any, SimpleNamespace(time=lambda: 0.0, call_later=lambda *_: None)))
        incoming.connection_made(cast(Any, SimpleNamespace(get_extra_info=lambda *_: None, close=lambda: None)))
        incoming.set_response_params(read_until_eof=True)
        incoming.listener = agent = Agent(incoming)
        incoming.data_received(HEAD)
        chunks = [make_chunk(chance) for _ in range(12)]
        pieces = [data for _, data in chunks]
        for _ in range(chance.randint(0, 6)):  # some pieces are joined, and some are split elsewhere
            at = chance.randrange(len(pieces) - 1)
            joined = pieces[at] + pieces[at + 1]
            cut = chance.randint(1, len(joined) - 1)
            pieces[at : at + 2] = chance.choice([[joined], [joined[:cut], joined[cut:]]])
        for piece in pieces:
            incoming.data_received(piece)
        assert agent.came == b"".join(text for text, _ in chunks)
        content = incoming._payload
        incoming.data_received(b"0\r\n\r\n")
        assert content is not None
        assert content.is_eof()
        assert content.exception() is None
        whole += agent.whole
    assert whole > 500


def test_a_credential_in_a_whole_chunk_is_not_passed() -> None:
    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        await stage.take(reader, b"a line\n")
        stage.upstream.write(chunk(b"key: sk-the-real-one\n"))
        assert await reader.read() == b""
        assert isinstance(stage.ends[0], BrokenError)

    run(scene)
