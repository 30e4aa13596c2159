"""Limits and counts the cost of calls, which is reserved on disk before a provider is asked and settled afterwards."""
