"""Container engines. This app has no models, and knows nothing about projects and users."""
