"""The pages on which people sign in and manage their account."""
