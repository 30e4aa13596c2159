"""What is done now and then: samples, measurements, reminders, and the removal of what has had its time."""
