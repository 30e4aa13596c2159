"""PostgreSQL: connections that are bounded, checked before use, and not waited for long."""
