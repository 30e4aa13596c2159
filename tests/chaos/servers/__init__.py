"""Two machines with one database and one engine, behind nginx, while servers, the database and leaders go away."""
