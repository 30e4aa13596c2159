"""What a user may do: sign in, sign up, manage API keys and a second factor."""
