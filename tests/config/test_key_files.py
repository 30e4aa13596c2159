"""Keys that are made on the first start."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.key_files import secret


def test_the_first_of_two_processes_makes_the_key_for_both(tmp_path: Path) -> None:
    first = secret("BERTH_X", tmp_path, lambda: "first")
    second = secret("BERTH_X", tmp_path, lambda: "second")
    assert (first, second) == ("first", "first")
    assert [path.name for path in tmp_path.iterdir()] == ["x.key"]


def test_a_key_file_that_cannot_be_made_is_told_in_a_sentence() -> None:
    with pytest.raises(ImproperlyConfigured, match="BERTH_X is not set and its file"):
        secret("BERTH_X", Path("/proc/nothing"))
