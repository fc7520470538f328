"""Measurements of ours beside a peer's, in the same run."""
