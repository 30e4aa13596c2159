"""A disk of one megabyte that a test fills or makes read-only, for the gateway's state."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filling = folder / "filling"
        self._files: list[Path] = []

    def take_all_files(self) -> None:
        """Leaves no room for a further file, as a full disk of other kinds does."""
        while True:
            file = self.folder / f"file{len(self._files)}"
            try:
                file.touch()
            except OSError:
                return
            self._files.append(file)

    def fill(self) -> None:
        """Leaves no byte."""
        with self._filling.open("ab", buffering=0) as file:
            size = 64 * 1024
            while size:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2

    def make_room(self) -> None:
        self._filling.unlink(missing_ok=True)
        while self._files:
            self._files.pop().unlink()

    def forbid_writes(self) -> None:
        """Nobody may have a file on it open for writing."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)

    def allow_writes(self) -> None:
        subprocess.run(["mount", "-o", "remount,rw", str(self.folder)], check=True)


@contextmanager
def small_disk(folder: Path, *, size: str = "1m") -> Iterator[SmallDisk]:
    """Needs root. Raises CalledProcessError if the system does not allow mounts."""
    folder.mkdir(mode=0o700)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes=64,mode=0700", "tmpfs", str(folder)], check=True
    )
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
