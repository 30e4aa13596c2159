"""Periodic work: samples, measurements, reminders, and the removal of old rows."""
