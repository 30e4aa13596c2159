"""What is done with a message: who may, what waits for what, commands, questions and reminders."""
