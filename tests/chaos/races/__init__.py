"""Many requests at once, to one server and to two."""
