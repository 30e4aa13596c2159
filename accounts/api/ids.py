"""The ids in paths, queries and bodies: UUIDs, in the one spelling of our answers."""

from uuid import UUID


def read_uuid(text: str) -> UUID | None:
    """Returns the id, or None if this is not one. The case of the letters does not matter.

    `UUID` itself also takes braces, a prefix, underscores, digits of other scripts, and hyphens anywhere.
    """
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text.lower() else None
