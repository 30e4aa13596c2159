"""The account pages, one module per subject: each reads the request, calls a service, and renders a template."""
