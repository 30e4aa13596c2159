"""Turns the model's Markdown into formatted text for Telegram, and splits it into messages. Pure functions."""
