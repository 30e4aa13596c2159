"""Fakes of the services outside: real HTTP servers on a port of their own, whose failures a test dials up."""
