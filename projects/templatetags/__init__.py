"""Template tags and filters about projects."""
