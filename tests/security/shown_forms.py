"""The forms of a page as a browser would send them: where to, which fields, and what is filled in."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

SIGNS_OUT = ("sign-out", "logout")


@dataclass
class Field:
    """`value` is what is filled in; `is_on` says whether it would be sent without a change."""

    name: str
    kind: str
    value: str = ""
    is_on: bool = True
    options: list[str] = field(default_factory=list)
    label: str = ""
    holds_credentials: bool = False


@dataclass
class Form:
    action: str
    fields: list[Field] = field(default_factory=list)

    def values(self, *, text: str = "") -> dict[str, list[str]]:
        """Returns what would be sent, without a button. `text` goes into empty fields that a person would fill in."""
        sent: dict[str, list[str]] = {}
        for each in self.fields:
            is_empty = each.kind in {"text", "textarea", "password"} and not each.value
            if each.is_on and each.kind != "submit":
                sent.setdefault(each.name, []).append(text if is_empty else each.value)
        return sent

    @property
    def buttons(self) -> list[dict[str, list[str]]]:
        """Returns what each button adds, or that there is nothing to add."""
        return [{each.name: [each.value]} for each in self.fields if each.kind == "submit"] or [{}]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._open: Field | None = None
        self._label = ""
        self._labels: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(values.get("action", "")) if values.get("method", "").lower() == "post" else None
            self.forms += [self._form] if self._form else []
        elif tag == "label":
            self._label = values.get("for", "")
        elif tag == "option" and self._open:
            self._open.options.append(values.get("value", ""))
            if "selected" in values or len(self._open.options) == 1:
                self._open.value = values.get("value", "")
        elif self._form and values.get("name", "csrfmiddlewaretoken") != "csrfmiddlewaretoken":
            self._add(tag, values, self._form)

    def _add(self, tag: str, values: dict[str, str], form: Form) -> None:
        kind = {"input": values.get("type", "text"), "button": "submit"}.get(tag, tag)
        is_choice = kind in {"checkbox", "radio"}
        value = values.get("value", "on" if is_choice else "")
        found = Field(values["name"], kind, value, is_on=not is_choice or "checked" in values)
        found.label = self._labels.get(values.get("id", ""), "")
        found.holds_credentials = "data-credentials" in values
        form.fields.append(found)
        self._open = found if tag in {"select", "textarea"} else None

    def handle_data(self, data: str) -> None:
        if self._label:
            self._labels[self._label] = self._labels.get(self._label, "") + data.strip()
        if self._open and self._open.kind == "textarea":
            self._open.value += data if self._open.value else data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"select", "textarea"}:
            self._open = None
        elif tag == "label":
            self._label = ""
        elif tag == "form":
            self._form = None


def forms_of(page: str) -> Iterator[Form]:
    """Yields the forms that change something, but for those that sign out."""
    parser = _Parser()
    parser.feed(page)
    yield from (form for form in parser.forms if not any(part in form.action for part in SIGNS_OUT))
