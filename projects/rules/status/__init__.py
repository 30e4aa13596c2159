"""Derives a project's status, its reason, and what to do about it."""
