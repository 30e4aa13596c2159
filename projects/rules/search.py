"""Which projects a text finds, for the API and the pages alike."""

from uuid import UUID


def is_found(text: str, *, name: str, bot_username: str, project_id: UUID) -> bool:
    """Whether the casefolded text is in the name, the id or the bot's name as people write it, in any letter case.

    It is not for a database to say: those differ in what they take for the same letter in another case.
    """
    bot = f"@{bot_username}" if bot_username else ""
    return any(text in each for each in (name.casefold(), str(project_id), bot.casefold()))
