"""Log lines: the access log, their format without credentials, and how they are written."""
