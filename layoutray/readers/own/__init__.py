"""Readers of one's own files: unlabelled, with values, or labelled by people."""
