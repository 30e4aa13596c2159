"""The PostgreSQL backend: connections that are limited in time and checked before use."""
