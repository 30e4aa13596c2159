"""From a model's Markdown to the entities of Telegram's messages. Pure rules."""
