"""What `/metrics` tells: what all processes have counted, and what the database knows."""
