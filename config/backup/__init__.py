"""One archive of the database and, on request, of what agents remember; and the way back from it."""
