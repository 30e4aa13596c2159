"""The API's requests and responses."""
