"""The gunicorn worker: threads work on complete requests, and never wait for a client."""
