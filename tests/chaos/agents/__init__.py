"""Agents that end, alone or many at once, and people who act on their containers."""
