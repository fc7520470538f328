"""Systems of the papers, their published numbers, and the models that are compared."""
