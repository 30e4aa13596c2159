"""Turns a message and its files into a question: transcribes sounds, reads text files, and attaches images and PDFs."""

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
from assistant.storage.usage import UsageLog
from assistant.telegram.attachments import Attachment, Kind
from assistant.telegram.files import Files, UnreadableError, check_size
from assistant.telegram.incoming import Incoming
from assistant.texts import Text

LONGEST_TEXT = 60_000  # characters of a text file that the model gets, about 15,000 tokens
LONGEST_KEPT = 4000  # characters of a text file that are remembered
MOST_AT_ONCE = 4  # messages whose files are on the volume at the same time, so that they take at most 80 MB
END = re.compile(r"<\s*/\s*file", re.IGNORECASE)  # escaped in a file, so that its content cannot end the quotation
CUT = "\n[The file goes on. Only its beginning is here.]"


class QuestionReader:
    def __init__(self, files: Files, model: ModelClient, usage_log: UsageLog, seconds: float) -> None:
        """`seconds` is the time limit of an answer, which includes reading its files."""
        self._files = files
        self._model = model
        self._usage_log = usage_log
        self._seconds = seconds
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    @asynccontextmanager
    async def read(self, incoming: Incoming) -> AsyncIterator[Question]:
        """Yields the question. Its files are deleted when the block ends.

        Raises UnreadableError, and RefusedError if the provider fails to transcribe a sound.
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
        spoken, kept, notes = [incoming.own_text], [incoming.own_text], []
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
                transcript = await self._transcribe(each, path, incoming.place.chat)
                spoken.append(transcript)
                kept.append(transcript)
            elif each.kind is Kind.TEXT:
                spoken.append(_quote(each.name, read_text(path, LONGEST_TEXT)))
                kept.append(_quote(each.name, read_text(path, LONGEST_KEPT)))
            else:
                parts.append(Part(path, each.mime, each.name))
                notes.append("[photo]" if each.name == "photo.jpg" else f"[file {each.name}]")
        return Question(_join(incoming, spoken, notes), _join(incoming, kept, notes), tuple(parts))

    async def _transcribe(self, sound: Attachment, path: Path, chat: int) -> str:
        transcript = await self._model.transcribe(path, sound.name, sound.mime)
        self._usage_log.note(chat, tokens_in=transcript.tokens_in, tokens_out=transcript.tokens_out, answers=0)
        if not transcript.text.strip():
            raise UnreadableError(Text.HEARD_NOTHING)
        return transcript.text.strip()[:LONGEST_TEXT]


def read_text(path: Path, longest: int) -> str:
    """Returns the first `longest` characters of the file and guesses its encoding. Raises UnreadableError if it is
    binary.
    """
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
    """Decodes UTF-8, or else Windows-1252. Drops an incomplete character at the end unless the content is `whole`."""
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(content, whole)
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _quote(name: str, text: str) -> str:
    content = END.sub("</ file", text)
    return f'{FILE_BEGINS}{name}">\n{content}\n</file>'


def _join(incoming: Incoming, spoken: list[str], notes: list[str]) -> str:
    return clean(incoming.with_context("\n\n".join(each for each in (*spoken, " ".join(notes)) if each)))
