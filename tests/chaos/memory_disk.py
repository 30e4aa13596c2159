"""A file system in memory, which is soon full. Needs root, and a separate mount namespace."""

import itertools
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class MemoryDisk:
    """`size` is what `mount` accepts, such as "24m"."""

    def __init__(self, path: Path, size: str, *, files: int = 20_000) -> None:
        """It holds at most this many files."""
        self.path = path
        path.mkdir(exist_ok=True)
        options = f"size={size},mode=700,nr_inodes={files}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(path)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        filling = self.path / "filling"
        with filling.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        try:
            yield
        finally:
            filling.unlink()

    @contextmanager
    def without_inodes(self) -> Iterator[None]:
        """No file can be created. Existing ones can still grow."""
        filling = self.path / "empty files"
        filling.mkdir()
        with suppress(OSError):
            for number in itertools.count():
                (filling / str(number)).touch()
        try:
            yield
        finally:
            shutil.rmtree(filling)

    @contextmanager
    def read_only(self, folder: str) -> Iterator[None]:
        """Makes one of its folders read-only, for everything that is opened from now on.

        The kernel refuses to do that with a whole file system in which files are open.
        """
        path = str(self.path / folder)
        subprocess.run(["mount", "--bind", path, path], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True)
            yield
        finally:
            subprocess.run(["umount", "--lazy", path], check=True)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)
