"""Limits how often something may be done, with counts that all processes share."""
