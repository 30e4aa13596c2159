"""The bot's picture in the form for a new project.

Telegram's address of the picture contains the token, so Berth fetches it. Browsers get it as a `data:` address with a
type that they only draw and never execute.
"""

import re
from base64 import b64encode
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.outbound.call_limits import time_limit
from projects.credentials.http_client import ask, fetch

LIMIT = 2.0
"""Seconds for all requests, because the bot's name is shown only after them."""

LARGEST = 32 * 1024
"""The maximum size in bytes. Telegram's small pictures of 160 px have about 8 KB."""

KINDS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"))
PATH = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")


@sensitive_variables("telegram_token", "secret", "base")
def read_bot_picture(*, telegram_token: str, bot_id: int) -> str:
    """Returns a `data:` address, or an empty text if the bot has no picture or Telegram sends no small one in time."""
    if not settings.BERTH_VERIFY_CREDENTIALS:
        return ""
    secret = f"bot{quote(telegram_token, safe=':')}"
    base = f"{settings.BERTH_TELEGRAM_API}/{secret}"
    with time_limit(LIMIT):
        photos = ask(f"{base}/getUserProfilePhotos?user_id={bot_id}&limit=1").body.get("result")
        file_id = _find_smallest(photos)
        if not file_id:
            return ""
        file = ask(f"{base}/getFile?file_id={quote(file_id, safe='')}").body.get("result")
        path = file.get("file_path") if isinstance(file, dict) else None
        if not isinstance(path, str) or not PATH.fullmatch(path):
            return ""
        return _as_address(fetch(f"{settings.BERTH_TELEGRAM_API}/file/{secret}/{path}"))


def _find_smallest(photos: Any) -> str:
    """Returns the id of the first size of the newest picture, or an empty text."""
    try:
        file_id = photos["photos"][0][0]["file_id"]
    except (TypeError, KeyError, IndexError):
        return ""
    return file_id if isinstance(file_id, str) and len(file_id) < 300 else ""


def _as_address(content: bytes) -> str:
    kind = next((kind for start, kind in KINDS if content.startswith(start)), "")
    return f"data:{kind};base64,{b64encode(content).decode()}" if kind and len(content) <= LARGEST else ""
