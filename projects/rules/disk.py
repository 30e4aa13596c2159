"""How much of its plan's disk space an agent's memory uses. Pure rules."""

from dataclasses import dataclass

DISK_FULL = "disk_full"
"""The failure of a project whose agent may not run until there is room in its memory again."""

BYTES_PER_FILE = 16 * 1024
"""A plan allows one file for this many bytes of disk, because ext4 creates one inode for that many bytes (mke2fs(8),
`inode_ratio`). So no agent uses a larger share of the inodes than of the space, even with many small files."""

WARN_AT, FORGET_BELOW = 0.8, 0.75
"""Shares of the limit. A warning begins at the first and ends below the second, so that small changes do not repeat
it."""

_UNITS = ((1024**4, "TB"), (1024**3, "GB"), (1024**2, "MB"), (1024, "KB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskShare:
    """The measured use and the limit, in bytes. `used` and `files` are None until something was measured."""

    used: int | None
    files: int | None
    limit: int

    @property
    def max_files(self) -> int:
        return max_files(self.limit)

    @property
    def portion(self) -> float:
        """The used share of space or of files, the larger of the two. 1.0 is full."""
        return max((self.used or 0) / self.limit, (self.files or 0) / self.max_files)

    @property
    def is_full(self) -> bool:
        return self.portion >= 1

    @property
    def is_nearly_full(self) -> bool:
        return WARN_AT <= self.portion < 1

    @property
    def warning(self) -> str | None:
        """A warning for the owner, or None if the memory is not nearly full."""
        if not self.is_nearly_full:
            return None
        return (
            f"Its memory is nearly full: {self.describe()}. When it is full the agent is stopped; clear its memory or "
            "choose a larger plan."
        )

    def describe(self) -> str:
        """Returns a text like `1.1 GB of 1 GB`, or counts files if their share is the larger one."""
        used, files = self.used or 0, self.files or 0
        if files / self.max_files > used / self.limit:
            return f"{min(files, self.max_files):,} of {self.max_files:,} files"  # the measurement stops counting there
        return f"{describe_size(used)} of {describe_size(self.limit)}"


def max_files(limit: int) -> int:
    """Returns how many files, directories and links a memory with this limit in bytes may have."""
    return max(1, limit // BYTES_PER_FILE)


def describe_size(size: int) -> str:
    """Formats a size in the largest unit that fits, with one decimal.

    Rounds up, so that a size above its limit also looks larger than the limit.
    """
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), _UNITS[-1])
    tenths = -(-size * 10 // unit)
    return f"{tenths // 10}.{tenths % 10} {name}".replace(".0 ", " ")
