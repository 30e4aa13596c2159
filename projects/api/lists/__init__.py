"""Lists in the API: pages, fast paths, and 304 for clients that already have the list."""
