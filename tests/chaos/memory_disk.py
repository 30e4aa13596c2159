"""A file system in memory, which is soon full. Needs root, and a mount namespace of one's own."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class MemoryDisk:
    """`size` is what `mount` takes, such as "24m"."""

    def __init__(self, path: Path, size: str) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", str(path)], check=True)

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

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)
