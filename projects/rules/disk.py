"""How much of the disk an agent's memory takes of what its plan gives it. Pure rules."""

from dataclasses import dataclass

DISK_FULL = "disk_full"
"""The failure of a project whose agent may not run because its memory is full, until there is room."""

BYTES_PER_FILE = 16 * 1024
"""Of the disk for each file at most: ext4 makes one inode for that many bytes (mke2fs(8), `inode_ratio`). So no agent
takes a larger part of the file system's inodes than of its space, however small its files are."""

WARN_AT, FORGET_BELOW = 0.8, 0.75
"""Shares of the limit. Between the two a warning stands, so that a little back and forth makes no second one."""

_UNITS = ((1024**4, "TB"), (1024**3, "GB"), (1024**2, "MB"), (1024, "KB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskShare:
    """What was measured, and the limit: both in bytes. `used` and `files` are None where nothing was measured yet."""

    used: int | None
    files: int | None
    limit: int

    @property
    def max_files(self) -> int:
        return max_files(self.limit)

    @property
    def portion(self) -> float:
        """1.0 is full. Of space and of files, that which there is less left of."""
        return max((self.used or 0) / self.limit, (self.files or 0) / self.max_files)

    @property
    def is_full(self) -> bool:
        return self.portion >= 1

    @property
    def is_nearly_full(self) -> bool:
        return WARN_AT <= self.portion < 1

    @property
    def warning(self) -> str | None:
        """What the owner is told before it is too late."""
        if not self.is_nearly_full:
            return None
        return (
            f"Its memory is nearly full: {self.describe()}. When it is full the agent is stopped; clear its memory or "
            "choose a larger plan."
        )

    def describe(self) -> str:
        """Such as `1.1 GB of 1 GB`, or of the files where these are what there are too many of."""
        used, files = self.used or 0, self.files or 0
        if files / self.max_files > used / self.limit:
            return f"{min(files, self.max_files):,} of {self.max_files:,} files"  # nobody counts on after that
        return f"{describe_size(used)} of {describe_size(self.limit)}"


def max_files(limit: int) -> int:
    """How many files, directories and links may be in a memory of so many bytes."""
    return max(1, limit // BYTES_PER_FILE)


def describe_size(size: int) -> str:
    """In the largest unit of which there is one, with one digit, rounded up: what is over its limit looks like it."""
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), _UNITS[-1])
    tenths = -(-size * 10 // unit)
    return f"{tenths // 10}.{tenths % 10} {name}".replace(".0 ", " ")
