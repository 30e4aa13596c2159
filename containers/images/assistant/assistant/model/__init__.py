"""How the model is asked, what it answers, and what is made of that."""
