"""Which projects match a search text, for the API and the pages alike."""

from uuid import UUID


def is_found(text: str, *, name: str, bot_username: str, project_id: UUID) -> bool:
    """Returns whether the casefolded text is part of the name, the id or the bot's @name, ignoring case.

    This is not done in SQL because databases differ in how they compare letters of different case.
    """
    bot = f"@{bot_username}" if bot_username else ""
    return any(text in each for each in (name.casefold(), str(project_id), bot.casefold()))
