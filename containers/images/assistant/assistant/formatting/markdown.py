"""Turns a model's Markdown into formatted text. Pure functions; any text is valid Markdown.

No letter or digit is ever lost: if the formatted text lacks one, the Markdown itself is shown.
"""

import logging
from collections import Counter

from markdown_it import MarkdownIt

from assistant.formatting.formatted import Formatted, clean
from assistant.formatting.rendering import Writer

logging.getLogger("markdown_it").setLevel(logging.WARNING)  # logging each rule takes longer than parsing

LONGEST = 60_000  # characters; longer answers are shown unformatted

# Without the rules that remove or replace text: link definitions and HTML entities. HTML itself stays as text.
_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": 40})
_PARSER.enable(["table", "strikethrough"]).disable(["reference", "entity", "lheading", "html_block", "html_inline"])
_PARSER.normalizeLink = str  # type: ignore[assignment,method-assign] # leaves every URL unchanged
_PARSER.validateLink = bool  # type: ignore[assignment,method-assign] # `rendering` decides which URLs are valid


def read_markdown(text: str) -> Formatted:
    text = clean(text).replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    plain = Formatted(text)
    if len(text) > LONGEST:
        return plain
    try:
        found = Writer().write_all(_PARSER.parse(text))
    except (IndexError, KeyError, RecursionError, TypeError, ValueError):  # a bug in the parser costs only formatting
        return plain
    return found if _keeps(text, found) else plain


def _keeps(text: str, found: Formatted) -> bool:
    """Returns whether every letter and digit of the Markdown is in the shown text or in the value of a span."""
    shown = _count(found.text + "".join(span.value for span in found.spans))
    return all(shown[letter] >= number for letter, number in _count(text).items())


def _count(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))
