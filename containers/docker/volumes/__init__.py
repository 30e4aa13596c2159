"""What agents keep: their volumes, who owns them, how large they are, and reading and filling them."""
