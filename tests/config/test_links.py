"""Each relative link of the documents leads to a file, and each anchor to a heading."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tests").rglob("*.md"),
        *(ROOT / "containers").rglob("*.md"),
    ]
)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def links_of(document: Path) -> Iterator[tuple[str, str]]:
    """Yields path and anchor of each relative link."""
    for found in LINK.finditer(CODE.sub("", document.read_text())):
        yield found[1], found[2] or ""


def anchors_of(text: str) -> set[str]:
    """Returns the anchors that GitHub gives to the headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_broken(document: Path) -> list[str]:
    broken = []
    for path, anchor in links_of(document):
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in anchors_of(target.read_text())):
            broken.append(f"{path}#{anchor}" if anchor else path)
    return broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_link_leads_somewhere(document: Path) -> None:
    assert find_broken(document) == []


def test_there_are_links_with_and_without_anchors() -> None:
    found = [link for document in DOCUMENTS for link in links_of(document)]
    assert sum(1 for path, anchor in found if path and not anchor) > 30
    assert sum(1 for _, anchor in found if anchor) > 5


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# What is, and what isn't\n\n```sh\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#what-is-and-what-isnt) [c](https://example.org/x) `[d](no.md)`\n"
        "[e](gone.md) [f](there.md#no-heading) [g](#nowhere)\n"
    )
    assert find_broken(page) == ["gone.md", "there.md#no-heading", "#nowhere"]
