"""Tests of alerts: who gets them, by which channels, and how messages end."""
