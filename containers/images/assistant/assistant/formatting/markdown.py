"""Turns a model's Markdown into formatted text. Pure rules; any text is Markdown.

No letter and no digit is ever lost: where the formatted text lacks one, the Markdown itself is what is shown.
"""

import logging
from collections import Counter

from markdown_it import MarkdownIt

from assistant.formatting.formatted import Formatted, clean
from assistant.formatting.rendering import Writer

logging.getLogger("markdown_it").setLevel(logging.WARNING)  # to note each of its rules takes longer than to parse

LONGEST = 60_000  # characters; longer answers are shown as they are

# Without the rules that take something away: definitions of links, entities of HTML. HTML itself is text.
_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": 40})
_PARSER.enable(["table", "strikethrough"]).disable(["reference", "entity", "lheading", "html_block", "html_inline"])
_PARSER.normalizeLink = str  # type: ignore[assignment,method-assign] # addresses stay as they are, the good and the bad
_PARSER.validateLink = bool  # type: ignore[assignment,method-assign] # rendering judges them


def read_markdown(text: str) -> Formatted:
    text = clean(text).replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    plain = Formatted(text)
    if len(text) > LONGEST:
        return plain
    try:
        found = Writer().write_all(_PARSER.parse(text))
    except (IndexError, KeyError, RecursionError, TypeError, ValueError):  # a fault of a parser costs only the looks
        return plain
    return found if _keeps(text, found) else plain


def _keeps(text: str, found: Formatted) -> bool:
    """Whether each letter and digit of the text is in what is shown, or in the values of its formatting."""
    shown = _count(found.text + "".join(span.value for span in found.spans))
    return all(shown[letter] >= number for letter, number in _count(text).items())


def _count(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))
