"""The service's side of the gateway protocol. It knows nothing about projects; the other side is an image."""
