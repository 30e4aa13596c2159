"""Cuts an answer into messages that Telegram takes. Pure rules."""

import unicodedata
from collections.abc import Iterator

from assistant.formatting.formatted import Formatted, Span, units

LIMIT = 4096  # UTF-16 code units, which is how Telegram counts
MOST_PARTS = 16  # a longer answer would run into Telegram's flood limits
CUT_NOTE = "\n[The rest of this answer was cut off.]"
BREAKS = ("\n\n", "\n", " ")
JOINER = "\u200d"  # holds composed emoji together


def split(whole: Formatted, limit: int = LIMIT) -> list[Formatted]:
    """Parts of at most `limit` code units that nothing is lost between but blanks. No part is blank.

    They are cut between paragraphs and in front of programs where that is possible, else between lines or words.
    """
    parts: list[Formatted] = []
    for part in _cut_up(whole, limit):
        if len(parts) == MOST_PARTS:
            last = parts[-1]
            end = _fitting(last.text, 0, limit - units(CUT_NOTE))
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
    """Where the next part begins. The blanks in front of a line of a program belong to it."""
    programs = [span for span in whole.spans if span.kind == "pre" and span.end > end]
    inside = any(span.start < end for span in programs)
    start = len(whole.text) - len(whole.text[end:].lstrip("\n" if inside else "\n "))
    return min([start, *(span.start for span in programs if end <= span.start)])


def _fitting(text: str, start: int, limit: int) -> int:
    """The place up to which the text from `start` fits into `limit` code units."""
    end = min(start + limit, len(text))
    over = units(text[start:end]) - limit
    while over > 0:
        end -= 1
        over -= 2 if text[end] > "\uffff" else 1
    return end


def _cut(whole: Formatted, start: int, limit: int) -> int:
    end = _fitting(whole.text, start, limit)
    if end == len(whole.text):
        return end
    half = (start + end) // 2  # not earlier, or messages get too many
    programs = [span for span in whole.spans if span.kind == "pre" and span.start < end and span.end > half]
    for mark in BREAKS:
        place = _last_outside(whole.text, mark, half, end, programs)
        if place > start:
            return place
    return _inside_of_program(whole, start, half, end, programs) or _between_letters(whole.text, start, end)


def _last_outside(text: str, mark: str, half: int, end: int, programs: list[Span]) -> int:
    """The last place of the mark in the later half that is in no program; -1 for none."""
    place = text.rfind(mark, half, end + 1)
    while place >= 0:
        around = next((span for span in programs if span.start <= place < span.end), None)
        if around is None:
            return place
        place = text.rfind(mark, half, around.start)
    return -1


def _inside_of_program(whole: Formatted, start: int, half: int, end: int, programs: list[Span]) -> int:
    """In front of a program that fits into one message as a whole; else between its lines. 0 where there is none."""
    around = next((span for span in programs if span.start < end < span.end), None)
    if around is None:
        return 0
    if around.start > start and units(whole.text[around.start : around.end]) <= end - start:
        return around.start
    return max(whole.text.rfind("\n", half, end + 1), 0)


def _between_letters(text: str, start: int, end: int) -> int:
    """The nearest place before `end`, a few characters at most, that is not inside a composed letter or emoji."""
    for place in range(end, max(end - 16, start + 1), -1):
        inside = unicodedata.combining(text[place]) or text[place] in (JOINER, "\ufe0f") or text[place - 1] == JOINER
        if not inside:
            return place
    return end
