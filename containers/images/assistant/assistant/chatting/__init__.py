"""Handles each message: access, limits, order, commands and questions. Also delivers reminders."""
