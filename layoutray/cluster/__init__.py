"""Ray at the rim: the only importers of ray, apart from the pipelines."""
