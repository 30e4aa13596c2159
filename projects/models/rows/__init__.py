"""Rows of projects as their readers need them: narrow ones for lists and looks, whole ones for commands."""
