"""Content from others, no matter how it is constructed, takes the agent no more time than allowed."""

import asyncio
import json
import time
from typing import Any

import pytest

pytestmark = pytest.mark.one_database

SIZE = 1 << 18  # characters; the agent fetches up to four times as much
OPENED = [
    "<a ", "<a b=", "<a b='", '<a b="', "<a b='c", "<a / ", "<a\n", "</a ", "</", "<!--", "<!", "<?", "<![", "<![if ",
    "<![CDATA[", "<!doctype ", "<", "< ", "&", "&#", "&#9", "&#x9", "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "<p>", "<p x>",
    "</p>", "<template>", "<script>", "<title>", "<a b=&lt", "<!-- --!", " ", "\n", "x", "\0",
]  # fmt: skip


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> float:
    """The time limit for a page in these tests."""
    from assistant.tools import web

    monkeypatch.setattr(web, "PARSING_SECONDS", 0.01)
    return 0.01


@pytest.mark.parametrize("before", ["", "<script>", "<a b='"])
def test_parsing_a_page_ends_at_its_time_limit(seconds: float, before: str) -> None:
    """Opens the same thing again and again. Parsing one piece of a page takes a fraction of a second at worst."""
    from assistant.tools.web import text_of

    for opened in OPENED:
        page = (before + opened * (SIZE // len(opened)))[:SIZE]
        begun = time.thread_time()
        text_of(page)
        assert time.thread_time() - begun < 1 + seconds, opened


def test_unclosed_elements_are_read_too() -> None:
    from assistant.tools.web import text_of

    for end in ("", "<", "<b", "<!-- x", "</p"):
        assert text_of(f"<p>{'Tides ' * 2000}<b>AT&T{end}").endswith(
            "Tides AT&T" + end.removesuffix("b")[:1] * (end == "<")
        )


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "hex", "nonsense", "rot13", "utf-7", "utf-16"])
def test_no_charset_takes_long(charset: str) -> None:
    from assistant.tools.outbound import Fetched
    from assistant.tools.web import _decode

    begun = time.thread_time()
    _decode(Fetched(200, {"content-type": f"text/html; charset={charset}"}, b"a" * 99 + b"-" + b"b9" * (SIZE // 2), ""))
    assert time.thread_time() - begun < 1


ANSWER = {"jsonrpc": "2.0", "id": 7, "result": {"x": "Ä"}}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_an_answer_is_found_among_events_however_they_are_cut(end: str, size: int) -> None:
    from assistant.tools.mcp_answers import AnswerReader

    events = [
        ": hello",
        "data: {",
        'data:"id": 7}',
        f"event: message{end}data: {json.dumps(ANSWER)[:-1]}{end}data: }}",
        ": more",
    ]
    stream, reader, content = (end * 2).join(events).encode(), AnswerReader(7), bytearray()
    found = []
    for place in range(0, len(stream), size):
        content += stream[place : place + size]
        found.append(reader.feed(content))
    assert found[-1]
    assert found == sorted(found)
    assert reader.finish(bytes(content)) == ANSWER
    assert AnswerReader(7).finish(json.dumps([ANSWER]).encode()) == ANSWER
    assert AnswerReader(7).finish(f"data: {json.dumps(ANSWER)}".encode()) == ANSWER
    assert AnswerReader(8).finish(stream) is None


@pytest.mark.parametrize("piece", [b"\n\n", b"\r\n\r\n", b"x", b"data: 1\n\n", b"data: x\n", b"{", b" ", b"\r"])
def test_a_stream_takes_time_in_proportion_to_its_length(piece: bytes) -> None:
    from assistant.tools.mcp_answers import AnswerReader

    reader, content, begun = AnswerReader(7), bytearray(), time.thread_time()
    for _ in range(5000):
        content += piece
        assert not reader.feed(content)
    reader.finish(bytes(content))
    assert time.thread_time() - begun < 1


def test_reading_files_ends_in_time_and_few_are_read_in_parallel() -> None:
    from assistant.chatting.reading import MOST_AT_ONCE, QuestionReader
    from assistant.telegram.attachments import Kind
    from assistant.telegram.files import UnreadableError
    from assistant.texts import Text

    folders: list[int] = []

    class Files:
        open = 0

        def folder(self) -> Any:
            return self

        def __enter__(self) -> None:
            self.open += 1
            folders.append(self.open)

        def __exit__(self, *_: object) -> None:
            self.open -= 1

        async def fetch(self, *_: Any) -> None:
            await asyncio.sleep(600)

    sound = type("Attachment", (), {"size": 1, "kind": Kind.SOUND})
    incoming: Any = type("Incoming", (), {"attachments": [sound], "own_text": ""})
    nothing: Any = None

    async def read(reader: Any) -> Text:
        with pytest.raises(UnreadableError) as error:
            async with reader.read(incoming):
                pass
        return error.value.text

    async def run() -> list[Text]:
        files: Any = Files()
        reader = QuestionReader(files, nothing, nothing, 0.05)
        return await asyncio.gather(*(read(reader) for _ in range(MOST_AT_ONCE + 2)))

    assert set(asyncio.run(run())) == {Text.OUT_OF_TIME}
    assert (len(folders), max(folders)) == (MOST_AT_ONCE + 2, MOST_AT_ONCE)
