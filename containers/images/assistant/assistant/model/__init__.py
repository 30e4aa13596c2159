"""Talks to the model provider: requests, streamed answers, tool calls, errors, and the summary of older messages."""
