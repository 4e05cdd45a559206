"""Exits with status 0 and has not said a word."""
