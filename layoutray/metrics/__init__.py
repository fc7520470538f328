"""Scores of what models answer; plain Python, no tensors."""
