"""Decides which URLs in Markdown become links."""

import re

from markdown_it.token import Token

_URL = re.compile(r"(?:https?://[\w-]+(?:\.[\w-]+)+(?::\d{1,5})?(?:[/?#][^\s<>\"]*)?|tg://[\w/?=&%.-]+)", re.ASCII)


def is_valid_url(text: str) -> bool:
    """Returns whether Telegram accepts the URL in a link. It drops other URLs and shows only the link's text."""
    return _URL.fullmatch(text) is not None


def url_of(token: Token) -> str:
    """Returns the URL of a link. A title is appended: this is no valid URL then, so both are shown as text."""
    address, title = token.attrs.get("href", ""), token.attrs.get("title")
    return f"{address} {title}" if title else str(address)
