"""Compares the rows with the engine, and repairs differences."""
