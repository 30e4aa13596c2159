"""Lists on the wire: their pages, their fast ways, and 304 to a client that has them already."""
