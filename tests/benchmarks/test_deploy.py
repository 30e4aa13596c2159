"""What the benchmark reports when it cannot run."""

from pathlib import Path

import pytest

from tests import busybox
from tests.benchmarks import deploy


def test_without_busybox_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(busybox, "BUSYBOX", Path("/nonexistent/busybox"))
    monkeypatch.setattr("sys.argv", ["deploy"])
    with pytest.raises(SystemExit) as ended:
        deploy.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "/nonexistent/busybox is missing. Install it (on Debian and Ubuntu: apt install busybox-static).\n"
    )
