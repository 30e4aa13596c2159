"""Why no base image could be made, in one sentence."""

import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from containers.docker_api.building import base_image
from containers.errors import EngineRefusedError

APT = """I: running apt-get update...
Err:1 http://deb.debian.org/debian trixie InRelease
  Temporary failure resolving 'deb.debian.org'
E: Failed to fetch http://deb.debian.org/debian/dists/trixie/InRelease  Temporary failure resolving 'deb.debian.org'
E: Some index files failed to download. They have been ignored, or old ones used instead.
E: mmdebstrap failed to run
"""


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (APT, "Failed to fetch http://deb.debian.org/debian/dists/trixie/InRelease  Temporary failure resolving 'deb."),
        ("I: it begins\nE: the only one\n", "the only one (mmdebstrap failed with status 25: E: the only one)"),
        ("bad luck\n", "mmdebstrap failed with status 25: bad luck"),
        ("", "mmdebstrap failed with status 25: it said nothing"),
    ],
)
def test_a_base_image_that_cannot_be_made_names_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, told: str
) -> None:
    """Without a network, only “mmdebstrap failed to run” was left of what it said."""
    (tmp_path / "said").write_text(printed)
    (tmp_path / "mmdebstrap").write_text(f"#!/bin/sh\ncat {tmp_path}/said >&2\nexit 25\n")
    (tmp_path / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("inspect_image", "_require_mmdebstrap"):
        monkeypatch.setattr(base_image, name, lambda *_: None)
    with pytest.raises(EngineRefusedError) as raised:
        base_image.find_base(Mock(), pull=False, report=lambda _: None)
    assert str(raised.value).startswith(f"The base image could not be made: {told}")
