"""The second process, and what it does to all projects."""
