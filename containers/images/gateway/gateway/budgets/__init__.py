"""Counts and limits the cost of calls: reserved on disk before a provider is asked, settled afterwards."""
