"""Bricks that architectures are made of: modules and functions that know shapes and mathematics, but no task, file or recipe."""
