"""Splits an answer into messages short enough for Telegram. Pure functions."""

import unicodedata
from collections.abc import Iterator

from assistant.formatting.formatted import Formatted, Span, units

LIMIT = 4096  # UTF-16 code units, which is how Telegram counts
MOST_PARTS = 16  # a longer answer would run into Telegram's flood limits
CUT_NOTE = "\n[The rest of this answer was cut off.]"
BREAKS = ("\n\n", "\n", " ")
JOINER = "\u200d"  # joins the parts of a composed emoji


def split(whole: Formatted, limit: int = LIMIT) -> list[Formatted]:
    """Returns non-blank parts of at most `limit` code units. Only blanks between the parts are dropped.

    Cuts between paragraphs or before code blocks if possible, otherwise between lines or words.
    """
    parts: list[Formatted] = []
    for part in _cut_up(whole, limit):
        if len(parts) == MOST_PARTS:
            last = parts[-1]
            end = _fitting_end(last.text, 0, limit - units(CUT_NOTE))
            parts[-1] = Formatted(last.text[:end] + CUT_NOTE, last.part(0, end).spans)
            break
        parts.append(part)
    return parts


def _cut_up(whole: Formatted, limit: int) -> Iterator[Formatted]:
    start = 0
    while start < len(whole.text):
        end = _cut(whole, start, limit)
        part = whole.part(start, start + len(whole.text[start:end].rstrip()))
        if not part.is_blank:
            yield part
        start = _after_blanks(whole, end)


def _after_blanks(whole: Formatted, end: int) -> int:
    """Returns where the next part begins. The indentation of a line of code belongs to the line."""
    code_blocks = [span for span in whole.spans if span.kind == "pre" and span.end > end]
    inside = any(span.start < end for span in code_blocks)
    start = len(whole.text) - len(whole.text[end:].lstrip("\n" if inside else "\n "))
    return min([start, *(span.start for span in code_blocks if end <= span.start)])


def _fitting_end(text: str, start: int, limit: int) -> int:
    """Returns the position up to which the text from `start` fits into `limit` code units."""
    end = min(start + limit, len(text))
    over = units(text[start:end]) - limit
    while over > 0:
        end -= 1
        over -= 2 if text[end] > "\uffff" else 1
    return end


def _cut(whole: Formatted, start: int, limit: int) -> int:
    end = _fitting_end(whole.text, start, limit)
    if end == len(whole.text):
        return end
    half = (start + end) // 2  # cutting earlier would produce too many messages
    code_blocks = [span for span in whole.spans if span.kind == "pre" and span.start < end and span.end > half]
    for mark in BREAKS:
        place = _last_outside(whole.text, mark, half, end, code_blocks)
        if place > start:
            return place
    return _at_code_block(whole, start, half, end, code_blocks) or _between_characters(whole.text, start, end)


def _last_outside(text: str, mark: str, half: int, end: int, code_blocks: list[Span]) -> int:
    """Returns the last position of the mark in the second half that is outside all code blocks; -1 if there is none."""
    place = text.rfind(mark, half, end + 1)
    while place >= 0:
        around = next((span for span in code_blocks if span.start <= place < span.end), None)
        if around is None:
            return place
        place = text.rfind(mark, half, around.start)
    return -1


def _at_code_block(whole: Formatted, start: int, half: int, end: int, code_blocks: list[Span]) -> int:
    """Returns the cut at a code block: before it if it fits into one message, else between its lines; 0 for none."""
    around = next((span for span in code_blocks if span.start < end < span.end), None)
    if around is None:
        return 0
    if around.start > start and units(whole.text[around.start : around.end]) <= end - start:
        return around.start
    return max(whole.text.rfind("\n", half, end + 1), 0)


def _between_characters(text: str, start: int, end: int) -> int:
    """Returns the nearest position within 16 characters before `end` that is not inside a composed letter or emoji."""
    for place in range(end, max(end - 16, start + 1), -1):
        inside = unicodedata.combining(text[place]) or text[place] in (JOINER, "\ufe0f") or text[place - 1] == JOINER
        if not inside:
            return place
    return end
