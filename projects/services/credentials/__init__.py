"""Credentials in the rows: whose bot a token is, which provider a key is for, and how they are encrypted."""
