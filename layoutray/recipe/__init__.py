"""Recipes: the complete settings of a run."""
