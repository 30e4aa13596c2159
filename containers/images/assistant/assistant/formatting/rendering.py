"""Renders the tokens of the Markdown parser as formatted text."""

import re
from collections.abc import Callable, Sequence

from markdown_it.token import Token

from assistant.formatting.formatted import Formatted, Span, in_order
from assistant.formatting.links import is_valid_url, url_of
from assistant.formatting.tables import lay_out

BULLET = "• "
RULE = "—————"
INDENT = "  "
INLINE = {"strong": "bold", "em": "italic", "s": "strikethrough"}
LANGUAGE = re.compile(r"[\w+#.-]{1,32}", re.ASCII)
Handle = Callable[["Writer", Token], None]


class Writer:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._line_breaks = 0
        self._is_after_bullet = False
        self._open: list[tuple[str, int, str]] = []
        self._spans: list[Span] = []
        self._lists = 0  # depth of nested lists
        self._quotes = 0
        self._rows: list[list[str]] = []
        self._is_in_cell = False

    def write_all(self, tokens: Sequence[Token]) -> Formatted:
        for token in tokens:
            if (handle := BLOCKS.get(token.type)) is not None:
                handle(self, token)
        text = "".join(self._pieces).rstrip()
        spans = (span._replace(end=min(span.end, len(text))) for span in self._spans)
        return Formatted(text, tuple(sorted((s for s in spans if s.start < s.end), key=in_order)))

    def _write(self, text: str) -> None:
        if not text:
            return
        self._write_separator()
        self._append(text)

    def _write_separator(self) -> None:
        if self._line_breaks and self._length:
            self._append("\n" * self._line_breaks + INDENT * (self._lists - 1))
        self._line_breaks = 0

    def _append(self, text: str) -> None:
        self._is_after_bullet = False
        self._pieces.append(text)
        self._length += len(text)

    def _separate(self, lines: int) -> None:
        """Starts the next text this many lines below, except the text of a list item, which follows its bullet."""
        if not self._is_after_bullet:
            self._line_breaks = max(self._line_breaks, lines)

    def _begin(self, kind: str, value: str = "") -> None:
        self._write_separator()
        self._open.append((kind, self._length, value))

    def _end(self) -> None:
        kind, start, value = self._open.pop()
        if start < self._length:
            self._spans.append(Span(kind, start, self._length, value))

    def inline(self, token: Token) -> None:
        if self._is_in_cell:
            self._rows[-1].append(_write_cell(token))
            return
        for child in token.children or ():
            self._inline(child)

    def paragraph(self, token: Token) -> None:
        self._separate(1 if token.hidden or self._lists else 2)

    def heading(self, token: Token) -> None:
        self._separate(2)
        if token.nesting > 0:
            self._begin("bold")
        else:
            self._end()
            self._separate(2)

    def quote(self, token: Token) -> None:
        """Merges nested quotes into the outer one, because Telegram does not nest them."""
        self._separate(2)
        self._quotes += token.nesting
        if token.nesting > 0 and self._quotes == 1:
            self._begin("blockquote")
        elif token.nesting < 0 and self._quotes == 0:
            self._end()

    def code_block(self, token: Token) -> None:
        self._separate(2)
        language, _, more = token.info.strip().partition(" ")
        if language and (more or not LANGUAGE.fullmatch(language)):
            self._write(token.info.strip())
            self._separate(1)
            language = ""
        content = token.content.rstrip("\n")
        if content:
            self._begin("pre", language)
            self._append(content)
            self._end()
        elif language:
            self._write(language)
        self._separate(2)

    def rule(self, _: Token) -> None:
        self._separate(2)
        self._write(RULE)
        self._separate(2)

    def list_(self, token: Token) -> None:
        self._separate(1 if self._lists else 2)
        self._lists += token.nesting
        self._separate(1 if self._lists else 2)

    def item(self, token: Token) -> None:
        self._separate(1)
        if token.nesting > 0:
            self._write(f"{token.info}{token.markup} " if token.info else BULLET)
            self._is_after_bullet = True

    def table(self, token: Token) -> None:
        self._separate(2)
        if token.nesting > 0:
            self._rows = []
            return
        self._begin("pre")
        self._append(lay_out(self._rows))
        self._end()
        self._separate(2)

    def row(self, token: Token) -> None:
        if token.nesting > 0:
            self._rows.append([])

    def cell(self, token: Token) -> None:
        self._is_in_cell = token.nesting > 0

    def _inline(self, token: Token) -> None:
        if (kind := INLINE.get(token.type.rsplit("_", 1)[0])) is not None:
            self._begin(kind) if token.nesting > 0 else self._end()
        elif token.type == "code_inline":
            self._begin("code")
            self._append(token.content)
            self._end()
        elif token.type in ("softbreak", "hardbreak"):
            self._separate(1)
        elif token.type == "link_open":
            self._begin("text_link", url_of(token))
        elif token.type == "link_close":
            self._close_link()
        elif token.type == "image":
            self._begin("text_link", str(token.attrs.get("src", "")))
            self._write(token.content)
            self._close_link()
        else:
            self._write(token.content)

    def _close_link(self) -> None:
        """Ends a link. If Telegram would not accept the URL, or the link has no text, the URL is shown as text."""
        _, start, value = self._open[-1]
        shown = "".join(self._pieces)[start:] if start < self._length else ""
        if is_valid_url(value) and shown.strip():
            self._end()
            return
        self._open.pop()
        if value and value not in (shown, f"mailto:{shown}"):
            self._write(f" ({value})" if shown else value)


def _write_cell(token: Token) -> str:
    """Returns a cell as one line, with the URLs of its links as text: tables are shown as code, which has no links."""
    written = Writer().write_all([token])
    addresses = [f"({span.value})" for span in written.spans if span.value]
    return " ".join([*written.text.split(), *addresses])


_OPEN_AND_CLOSE: dict[str, Handle] = {
    "paragraph": Writer.paragraph,
    "heading": Writer.heading,
    "blockquote": Writer.quote,
    "bullet_list": Writer.list_,
    "ordered_list": Writer.list_,
    "list_item": Writer.item,
    "table": Writer.table,
    "tr": Writer.row,
    "th": Writer.cell,
    "td": Writer.cell,
}
BLOCKS = {f"{name}_{side}": handle for name, handle in _OPEN_AND_CLOSE.items() for side in ("open", "close")}
BLOCKS |= {"inline": Writer.inline, "fence": Writer.code_block, "code_block": Writer.code_block, "hr": Writer.rule}
