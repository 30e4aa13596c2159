"""Builds images on an engine: their files, their base image, whether they are up to date, and what replaces them."""
