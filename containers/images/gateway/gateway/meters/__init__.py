"""Reads from a provider's answer, while it passes, what the answer has cost."""
