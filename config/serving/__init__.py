"""How the processes of the service are run."""
