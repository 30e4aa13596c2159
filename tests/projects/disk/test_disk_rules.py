"""How much disk use is too much. Pure rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.rules.disk import BYTES_PER_FILE, DiskShare, describe_size

MIB, GIB = 1 << 20, 1 << 30
SIZES = st.none() | st.integers(0, 1 << 62)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 KB"), (1, "0.1 KB"), (1023, "1 KB"), (1024, "1 KB"), (MIB, "1 MB"), (GIB - 1, "1024 MB"), (GIB, "1 GB"),
        (GIB + 1, "1.1 GB"), (5 * GIB, "5 GB"), (1 << 50, "1024 TB"),
    ],
)  # fmt: skip
def test_sizes_are_rounded_up(size: int, text: str) -> None:
    assert describe_size(size) == text


@pytest.mark.parametrize(
    ("used", "files", "portion", "text"),
    [
        (None, None, 0, "0 KB of 1 GB"),
        (GIB // 2, 10, 0.5, "512 MB of 1 GB"),
        (GIB, 10, 1, "1 GB of 1 GB"),
        (GIB + 1, 10, 1, "1.1 GB of 1 GB"),
        (MIB, 32768, 0.5, "32,768 of 65,536 files"),
        (0, 65536, 1, "65,536 of 65,536 files"),
        (0, 10**12, 1, "65,536 of 65,536 files"),
    ],
)
def test_the_scarcer_of_space_and_files_counts(used: int | None, files: int | None, portion: float, text: str) -> None:
    share = DiskShare(used=used, files=files, limit=GIB)
    assert share.portion == pytest.approx(portion) or share.portion > portion >= 1
    assert share.describe() == text


@given(SIZES, SIZES, st.integers(16, 1 << 24))
def test_a_full_agent_is_not_warned_and_exceeding_the_limit_is_shown(
    used: int | None, files: int | None, limit_mb: int
) -> None:
    share = DiskShare(used=used, files=files, limit=limit_mb * MIB)
    assert share.is_full == ((used or 0) >= share.limit or (files or 0) >= share.limit // BYTES_PER_FILE)
    assert not (share.is_full and share.warning)
    assert (share.warning is not None) == share.is_nearly_full
    if (used or 0) > share.limit and not files:
        now, limit = share.describe().split(" of ")
        assert now != limit
