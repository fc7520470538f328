"""Building blocks of architectures: modules and functions on tensors, independent of tasks, files and recipes."""
