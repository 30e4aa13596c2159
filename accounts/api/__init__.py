"""The frame that every view under /api stands in, and the views under /api/auth."""
