"""Files at the fake Telegram: those that users send, and how bots get them."""

from typing import Any

from tests.fakes.messages import Answer
from tests.fakes.telegram_bot import Bot, File
from tests.fakes.telegram_errors import ApiError

LARGEST = 20 * 1024 * 1024
"""Bytes. Bots cannot get larger files."""


def upload(bot: Bot, content: bytes, size: int | None = None) -> dict[str, Any]:
    """Adds a file, and returns it as it appears in a message. `size` is the size that Telegram
    reports, if it is wrong.
    """
    number = len(bot.files) + 1
    file = File(f"file{number}", content, len(content) if size is None else size)
    bot.files[file.file_id] = file
    return {"file_id": file.file_id, "file_unique_id": f"u{number}", "file_size": file.size}


def list_photos(bot: Bot, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the bot's own picture. A bot may also ask for those of people, which this fake does not have."""
    is_own = str(fields.get("user_id")) == str(bot.id) and bot.picture
    sizes = [[{"file_id": bot.picture, "file_unique_id": "p", "width": 160, "height": 160}]] if is_own else []
    return {"total_count": len(sizes), "photos": sizes}


def get_file(bot: Bot, fields: dict[str, Any]) -> dict[str, Any]:
    file = bot.files.get(str(fields.get("file_id")))
    if file is None:
        raise ApiError(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
    if file.size > LARGEST:
        raise ApiError(400, "Bad Request: file is too big")
    facts = {"file_id": file.file_id, "file_unique_id": file.file_id, "file_size": file.size}
    return facts | {"file_path": file.path}


def download(bot: Bot, path: str) -> Answer:
    file = next((each for each in bot.files.values() if each.path == path), None)
    if file is None:
        raise ApiError(404, "Not Found")
    return Answer(200, file.content, {"Content-Type": "application/octet-stream"})
