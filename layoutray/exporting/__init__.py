"""Checkpoints in the format of the transformers library."""
