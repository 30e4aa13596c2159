"""What every view under /api uses: authentication, permissions, parsing and fields; and the views of /api/auth."""
