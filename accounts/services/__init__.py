"""What a person may do: sign in, sign up, have API keys and a second factor."""
