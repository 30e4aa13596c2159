"""Two machines that serve one database and one engine, behind nginx, while servers, database and leaders go away."""
