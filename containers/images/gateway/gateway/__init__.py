"""The gateway: identifies agents by virtual credentials, and replaces these with the real ones on the way out."""
