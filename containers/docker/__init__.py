"""The engine of one Docker host: containers, volumes and the network of this installation."""
