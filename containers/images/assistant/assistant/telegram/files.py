"""Downloads files from Telegram to disk in chunks, and refuses those that are too large."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from ssl import SSLContext

import httpx
from telegram import Bot
from telegram.error import BadRequest, TelegramError

from assistant.telegram.attachments import MOST_BYTES, Attachment
from assistant.telegram.requests import cancel_cleanly
from assistant.texts import Text

SILENT_SECONDS = 30.0
MEGABYTE = 1024 * 1024


class UnreadableError(Exception):
    """An attachment cannot be read. `text` is the sentence for the chat, with the values of its placeholders."""

    def __init__(self, text: Text, **values: object) -> None:
        super().__init__(text)
        self.text = text
        self.values = values


class Files:
    def __init__(self, bot: Bot, directory: Path, tls: SSLContext) -> None:
        self._bot = bot
        self._directory = directory / "files"
        shutil.rmtree(self._directory, ignore_errors=True)  # left behind if the agent was killed
        self._client = httpx.AsyncClient(timeout=SILENT_SECONDS, verify=tls)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yields a temporary folder for the files of one message. It is on the volume, because /tmp is in memory."""
        self._directory.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._directory, ignore_cleanup_errors=True) as name:
            yield Path(name)

    async def fetch(self, attachment: Attachment, folder: Path) -> Path:
        """Downloads the attachment into the folder. Raises UnreadableError."""
        check_size(attachment.size)
        try:
            file = await self._bot.get_file(attachment.file_id)
            check_size(file.file_size or 0)
            path = folder / str(len(list(folder.iterdir())))
            return await cancel_cleanly(self._client, partial(self._download, file.file_path or "", path))
        except BadRequest as error:
            if "too big" in str(error).lower():
                raise too_large() from None
            raise UnreadableError(Text.FILE_LOST) from None
        except (TelegramError, httpx.HTTPError, httpx.InvalidURL):
            raise UnreadableError(Text.FILE_LOST) from None

    async def close(self) -> None:
        await self._client.aclose()

    async def _download(self, address: str, path: Path) -> Path:
        async with self._client.stream("GET", address) as answer:
            answer.raise_for_status()
            size = 0
            with path.open("wb") as file:
                async for piece in answer.aiter_bytes():
                    size += len(piece)
                    check_size(size)
                    file.write(piece)
        return path


def check_size(size: int) -> None:
    """Raises UnreadableError if the size exceeds MOST_BYTES."""
    if size > MOST_BYTES:
        raise too_large()


def too_large() -> UnreadableError:
    return UnreadableError(Text.FILE_TOO_LARGE, most=MOST_BYTES // MEGABYTE)
