"""How long a container that does not answer is left alone."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from containers.docker import inspections, pauses


def test_a_silent_container_is_inspected_again_after_the_length_of_its_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most are silent only while the engine takes them down or starts them."""
    now = [0.0]
    monkeypatch.setattr(pauses, "time", SimpleNamespace(monotonic=lambda: now[0]))
    found = inspections.Inspections(MagicMock(), MagicMock(), MagicMock())
    lengths = []
    for _ in range(7):
        began = now[0]
        found.note_stuck("c")
        while found.is_stuck("c"):
            now[0] += 0.25
        lengths.append(now[0] - began)
    assert lengths == [0.5, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0]
    found.note_answer("c")
    assert not found.is_stuck("c")
    found.note_stuck("c")
    now[0] += 0.5
    assert not found.is_stuck("c")
