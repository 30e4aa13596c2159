"""Describes the contents of an archive or a database in words."""

from config.backup.manifest import Manifest

_KINDS = {"accounts.user": "user", "projects.project": "project", "projects.event": "event"}


def count_kinds(manifest: Manifest) -> str:
    """Returns for example `2 users, 1 project, 30 events, 1 agent's memory`."""
    words = [counted(manifest.counts.get(model, 0), name) for model, name in _KINDS.items()]
    if manifest.memory is not None:
        words.append(counted(len(manifest.memory), "agent's memory", "agents' memories"))
    return ", ".join(words)


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
