"""A Telegram bot that answers with a language model: the agent type `assistant` of Berth."""
