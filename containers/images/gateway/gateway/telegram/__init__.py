"""Calls to Telegram's Bot API."""
