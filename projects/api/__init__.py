"""Projects and the catalogue under /api."""
