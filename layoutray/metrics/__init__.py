"""Scores of model answers, in plain Python and NumPy without tensors."""
