"""Tries an image: runs it beside servers of our own, and notes what it does."""
