"""Which projects match a search text, for the API and the pages alike."""

from uuid import UUID

from accounts.text import as_shown


def fold(text: str) -> str:
    """Returns the text in the form in which texts are compared: as people see it, and without the case of letters."""
    return as_shown(text).casefold()


def is_found(text: str, *, name: str, bot_username: str, project_id: UUID) -> bool:
    """Returns whether the folded text is part of the name, the id or the bot's @name, ignoring case.

    This is not done in SQL because databases differ in how they compare letters of different case.
    """
    bot = f"@{bot_username}" if bot_username else ""
    return any(text in each for each in (fold(name), str(project_id), bot.casefold()))
