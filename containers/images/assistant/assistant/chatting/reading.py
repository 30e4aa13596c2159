"""Makes a question of a message and what came along: sounds are transcribed, texts read, images and PDFs kept ready."""

import asyncio
import codecs
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from assistant.formatting.formatted import clean
from assistant.model.client import ModelClient
from assistant.model.parts import FILE_BEGINS, Part, Question
from assistant.remembering.spending import Spending
from assistant.telegram.attachments import Attachment, Kind
from assistant.telegram.files import Files, UnreadableError, check_size
from assistant.telegram.incoming import Incoming
from assistant.texts import Text

LONGEST_TEXT = 60_000  # characters of a text file that the model gets, some 15,000 tokens
LONGEST_KEPT = 4000  # of them that are remembered
MOST_AT_ONCE = 4  # messages whose files are on the volume: 80 MB, however many people send some
END = re.compile(r"<\s*/\s*file", re.IGNORECASE)  # in a file, or what follows would not be taken for data
CUT = "\n[The file goes on. Only its beginning is here.]"


class Reading:
    def __init__(self, files: Files, model: ModelClient, spending: Spending, seconds: float) -> None:
        """`seconds` is what an answer may take, and so the reading of its files."""
        self._files = files
        self._model = model
        self._spending = spending
        self._seconds = seconds
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    @asynccontextmanager
    async def read(self, incoming: Incoming) -> AsyncIterator[Question]:
        """The question. Its files last as long as the block.

        Raises UnreadableError, and RefusedError of the provider.
        """
        if not incoming.attachments:
            question = clean(incoming.question)
            yield Question(question, question)
            return
        async with self._places:
            with self._files.folder() as folder:
                yield await self._read_in_time(incoming, folder)

    async def _read_in_time(self, incoming: Incoming, folder: Path) -> Question:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                question = await self._read(incoming, folder)
        except TimeoutError:
            raise UnreadableError(Text.OUT_OF_TIME, seconds=self._seconds) from None
        return replace(question, seconds=time.monotonic() - begun)

    async def _read(self, incoming: Incoming, folder: Path) -> Question:
        check_size(sum(each.size for each in incoming.attachments if each.kind is not Kind.OTHER))
        said, kept, notes = [incoming.said], [incoming.said], []
        parts: list[Part] = []
        size = 0
        for each in incoming.attachments:
            if each.kind is Kind.OTHER:
                notes.append(f"[file {each.name}, which you cannot read]")
                continue
            path = await self._files.fetch(each, folder)
            size += path.stat().st_size
            check_size(size)
            if each.kind is Kind.SOUND:
                completion = await self._hear(each, path, incoming.place.chat)
                said.append(completion)
                kept.append(completion)
            elif each.kind is Kind.TEXT:
                said.append(_quote(each.name, read_text(path, LONGEST_TEXT)))
                kept.append(_quote(each.name, read_text(path, LONGEST_KEPT)))
            else:
                parts.append(Part(path, each.mime, each.name))
                notes.append("[photo]" if each.name == "photo.jpg" else f"[file {each.name}]")
        return Question(_join(incoming, said, notes), _join(incoming, kept, notes), tuple(parts))

    async def _hear(self, sound: Attachment, path: Path, chat: int) -> str:
        completion = await self._model.transcribe(path, sound.name, sound.mime)
        self._spending.note(chat, tokens_in=completion.tokens_in, tokens_out=completion.tokens_out, answers=0)
        if not completion.text.strip():
            raise UnreadableError(Text.HEARD_NOTHING)
        return completion.text.strip()[:LONGEST_TEXT]


def read_text(path: Path, longest: int) -> str:
    """As many characters of the file, in whatever encoding it is. Raises UnreadableError for what is no text."""
    with path.open("rb") as file:
        content = file.read(longest * 4 + 3)
    whole = len(content) == path.stat().st_size
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = content.decode("utf-16", "replace")
    elif b"\0" in content:
        raise UnreadableError(Text.ONLY_TEXT)
    else:
        text = _decode(content, whole=whole)
    text = clean(text)
    return text if whole and len(text) <= longest else text[:longest] + CUT


def _decode(content: bytes, *, whole: bool) -> str:
    """A character that is cut at the end is left out."""
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(content, whole)
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _quote(name: str, text: str) -> str:
    content = END.sub("</ file", text)
    return f'{FILE_BEGINS}{name}">\n{content}\n</file>'


def _join(incoming: Incoming, said: list[str], notes: list[str]) -> str:
    return clean(incoming.phrase("\n\n".join(each for each in (*said, " ".join(notes)) if each)))
