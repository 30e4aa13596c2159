"""Tries out an image: runs it with fake servers, and records what it does."""
