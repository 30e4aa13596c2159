"""What happens to every request and every error: middleware, limits of bodies, and problem documents."""
