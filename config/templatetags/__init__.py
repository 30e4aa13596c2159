"""Template tags about the service itself, for every page."""
