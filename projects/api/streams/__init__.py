"""Answers that last: logs and statuses as they come, and waiting for a status."""
