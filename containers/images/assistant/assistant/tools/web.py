"""Tools that read web pages and search the web."""

import asyncio
import codecs
import json
import re
import time
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from assistant.tools.outbound import Fetched, OutboundClient
from assistant.tools.tool import Caller, Tool, ToolError, schema_of

MOST_RESULTS = 8
LONGEST_SNIPPET = 400  # characters
PIECE = 4096  # characters of a page that are parsed at once
PARSING_SECONDS = 2.0  # of CPU time for one page, because a thread cannot be ended from outside
SLOW_CODECS = ("idna", "punycode")  # meant for host names; their time grows with the square of the length
PAGES = ("text/html", "application/xhtml+xml")
TEXTS = ("application/json", "application/xml", "application/rss+xml", "application/atom+xml", "application/ld+json")
HIDDEN = ("script", "style", "noscript", "template", "svg", "head")
BLOCKS = "p div br li tr h1 h2 h3 h4 h5 h6 section article header footer table ul ol pre blockquote".split()  # noqa: SIM905 - shorter
URL = {"type": "string", "description": "With http:// or https://"}


class WebTools:
    def __init__(self, outbound: OutboundClient, *, reads: bool, search_url: str) -> None:
        """`search_url` is a search page that answers `format=json` like SearXNG; empty for no search."""
        self._outbound = outbound
        self._reads = reads
        self._search_url = search_url

    async def list_tools(self) -> Sequence[Tool]:
        found = []
        if self._reads:
            described = "Reads a page of the web, as text."
            found.append(Tool("read_page", described, schema_of(("url",), url=URL), self._read))
        if self._search_url:
            query = {"type": "string"}
            found.append(Tool("search_web", "Searches the web.", schema_of(("query",), query=query), self._search))
        return found

    async def _read(self, _: Caller, arguments: dict[str, Any]) -> str:
        fetched = await self._outbound.fetch("GET", str(arguments["url"]))
        if fetched.status >= 400:
            raise ToolError(f"the server answers with status {fetched.status}.")
        if fetched.kind in PAGES:
            return await asyncio.to_thread(text_of, _decode(fetched))
        if fetched.kind.startswith("text/") or fetched.kind in TEXTS:
            return _decode(fetched)
        raise ToolError("this is no page with text.")

    async def _search(self, _: Caller, arguments: dict[str, Any]) -> str:
        joint = "&" if "?" in self._search_url else "?"
        query = urlencode({"q": str(arguments["query"])[:400], "format": "json"}, errors="replace")
        fetched = await self._outbound.fetch("GET", f"{self._search_url}{joint}{query}")
        try:
            results = json.loads(fetched.body)["results"][:MOST_RESULTS]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ToolError("the search engine does not answer.") from None
        return "\n\n".join(_describe(each) for each in results if isinstance(each, dict)) or "Nothing was found."


def text_of(page: str) -> str:
    """Returns the visible text of the page, as far as it can be parsed in time.

    Never closes the parser, because that searches the rest of the page for the end of every unclosed tag.
    """
    reader = _Reader()
    until = time.thread_time() + PARSING_SECONDS
    for start in range(0, len(page), PIECE):
        try:
            reader.feed(page[start : start + PIECE] + ("" if start + PIECE < len(page) else "\n"))
        except (AssertionError, ValueError):  # raised by the parser for some malformed markup
            break
        if time.thread_time() > until:
            break
    lines = (" ".join(line.split()) for line in "".join(reader.found).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    """Collects the visible text and the title."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._hidden: list[str] = []
        self._is_title = False

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._hidden.clear()
        if tag in HIDDEN and len(self._hidden) < 100:
            self._hidden.append(tag)
        self._is_title = tag == "title"
        if tag in BLOCKS:
            self.found.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        self._is_title = False
        if tag in BLOCKS or tag == "title":
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden or self._is_title:
            self.found.append(data)


def _decode(fetched: Fetched) -> str:
    charset = re.search(r"charset=[\"']?([\w-]{1,40})", fetched.headers.get("content-type", ""))
    try:
        codec = codecs.lookup(charset[1] if charset else "utf-8").name
        return fetched.body.decode("utf-8" if codec in SLOW_CODECS else codec, "replace")
    except (LookupError, ValueError):
        return fetched.body.decode("utf-8", "replace")


def _describe(result: dict[str, Any]) -> str:
    words = (str(result.get(name) or "")[:LONGEST_SNIPPET] for name in ("title", "url", "content"))
    return "\n".join(word for word in words if word)
