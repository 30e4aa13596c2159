"""Which addresses of Markdown become links."""

import re

from markdown_it.token import Token

_ADDRESS = re.compile(r"(?:https?://[\w-]+(?:\.[\w-]+)+(?::\d{1,5})?(?:[/?#][^\s<>\"]*)?|tg://[\w/?=&%.-]+)", re.ASCII)


def is_address(text: str) -> bool:
    """Whether Telegram makes a link of it: of others it leaves only the words."""
    return _ADDRESS.fullmatch(text) is not None


def address_of(token: Token) -> str:
    """With its title, which then is no address; so that both are shown."""
    address, title = token.attrs.get("href", ""), token.attrs.get("title")
    return f"{address} {title}" if title else str(address)
