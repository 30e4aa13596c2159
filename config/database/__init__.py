"""The connection to the database: every wait for it ends, and every fault of it is told from an error of ours."""
