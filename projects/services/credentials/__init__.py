"""Stored credentials: which project owns a bot, which provider a key is for, and how they are encrypted."""
