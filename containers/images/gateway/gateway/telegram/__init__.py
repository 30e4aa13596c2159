"""Calls to the Bot API."""
