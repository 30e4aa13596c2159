"""Limits how often something may be done, counted for all processes together."""
