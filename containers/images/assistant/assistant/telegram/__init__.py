"""What comes from Telegram and what goes there: updates, files, and messages that grow."""
