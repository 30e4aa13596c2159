"""The frame of every view under /api (authentication, permissions, parsing, fields), and the views of /api/auth."""
