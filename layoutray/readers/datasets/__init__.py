"""Readers of public data sets, and of what `layoutray export dataset` writes."""
