"""Any text of a model becomes messages that Telegram accepts, and nothing is lost."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fakes.telegram_texts import check_text

PIECES = [
    "# ",
    "## ",
    "> ",
    "- ",
    "* ",
    "1. ",
    "2) ",
    "   ",
    "\n",
    "\n\n",
    "```",
    "```py\n",
    "~~~",
    "`",
    "``",
    "**",
    "*",
]
PIECES += [
    "_",
    "__",
    "~~",
    "[",
    "]",
    "(",
    ")",
    "](http://ship.example/a?b=c)",
    "![",
    "<",
    ">",
    "<https://ship.example>",
]
PIECES += [
    "&amp;",
    "&#35;",
    "\\",
    "\\*",
    "|",
    "|a|\n|--|\n",
    "|a|b|\n|-|:-:|\n|c|",
    "ship",
    "Ahoy ",
    "🚢",
    "👩‍👩‍👧",
    "é",
]
PIECES += ["عربي", "中文", "\u200b", "\u202e", "\0", "\ud83d", "\t", "---", "===", '[x]: /u "t"', "<b>", "</b>", "<!--"]
PIECES += ["$$", "\u2028", "http://a.b", "\r"]
MARKDOWN = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=60).map("".join)


def words(text: str) -> Counter[str]:
    return Counter(letter for letter in text if letter.isalnum())


def messages_of(text: str, limit: int) -> list[Any]:
    from assistant.formatting.markdown import read_markdown
    from assistant.formatting.splitting import split

    return split(read_markdown(text), limit)


@settings(max_examples=50)
@given(columns=st.integers(1, 60), rows=st.integers(1, 60), wide=st.integers(1, 4000))
@example(columns=2, rows=500, wide=20_000)
@example(columns=9, rows=5000, wide=80)
def test_a_table_takes_no_more_than_a_few_times_its_text(columns: int, rows: int, wide: int) -> None:
    from assistant.formatting.tables import lay_out

    table = [["w" * wide] * columns, *([["", *["x"] * (columns - 1)]] * rows)]
    source = sum(len(cell) + 1 for row in table for cell in row)
    assert len(lay_out(table)) <= 4000 + 3 * source


def test_a_table_that_is_too_wide_keeps_its_cells_apart() -> None:
    from assistant.formatting.markdown import read_markdown

    found = read_markdown(f"|a|b|c|\n|-|-|-|\n|{'x' * 120}||2|\n|3|")
    assert found.text == f"a | b | c\n{'x' * 120} |  | 2\n3"


@settings(max_examples=150)
@given(text=MARKDOWN, limit=st.sampled_from([48, 200, 4096]))
def test_any_text_becomes_messages_that_telegram_accepts_without_loss(text: str, limit: int) -> None:
    from assistant.formatting.formatted import clean, units
    from assistant.telegram.sending import to_entities

    parts = messages_of(text, limit)
    for part in parts:
        assert units(part.text) <= limit
        entities = [entity.to_dict() for entity in to_entities(part)]
        check_text(part.text, entities)
    said = "".join(part.text + "".join(span.value for span in part.spans) for part in parts)
    if not said.endswith("cut off.]"):
        assert not words(clean(text)) - words(said)


@pytest.mark.parametrize(
    ("markdown", "text", "spans"),
    [
        ("# Hi\n**b** `c`", "Hi\n\nb c", ["bold Hi", "bold b", "code c"]),
        ("1. one\n2. two\n   - *a*\n\nafter", "1. one\n2. two\n  • a\n\nafter", ["italic a"]),
        ("> q\n> > z\n\nt", "q\n\nz\n\nt", ["blockquote q\n\nz"]),
        ("```py\nx = 1\n```", "x = 1", ["pre x = 1 py"]),
        ("```py\nx = 1", "x = 1", ["pre x = 1 py"]),  # an unfinished answer
        ("|a|bc|\n|-|-|\n|1|[l](http://x.y)|", "a  bc\n1  l (http://x.y)", ["pre a  bc\n1  l (http://x.y)"]),
        ("[a](http://x.y/z) [b](javascript:c)", "a b (javascript:c)", ["text_link a http://x.y/z"]),
        ("~~no~~ <b>html</b> &amp; a_b_c 2*3*4", "no <b>html</b> &amp; a_b_c 234", ["strikethrough no", "italic 3"]),
        ("> " * 60 + "deep", "> " * 60 + "deep", []),  # too deep for the parser, so it is shown unformatted
    ],
)
def test_markdown_is_rendered_as_intended(markdown: str, text: str, spans: list[str]) -> None:
    from assistant.formatting.markdown import read_markdown

    read = read_markdown(markdown)
    assert read.text == text
    assert [" ".join(filter(None, (s.kind, read.text[s.start : s.end], s.value))) for s in read.spans] == spans


def test_code_blocks_stay_whole_or_continue_as_code_blocks() -> None:
    program = "\n".join(f"    line {number}" for number in range(6))
    parts = messages_of(f"{'word ' * 12}\n\n```py\n{program}\n```\nend", 69)
    assert [part.text for part in parts] == [("word " * 12).strip(), program, "end"]
    parts = messages_of(f"```py\n{program}\n```", 60)
    assert "\n".join(part.text for part in parts) == program
    assert all([span.kind for span in part.spans] == ["pre"] for part in parts)


def test_a_bomb_of_markup_is_parsed_quickly() -> None:
    for mark in ("[", "![", "*a", "> ", "- ", "`", "|"):
        messages_of(mark * (4096 // len(mark)), 4096)
