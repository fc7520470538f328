"""Measurements without command-line options or output."""
