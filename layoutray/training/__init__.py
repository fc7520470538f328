"""Training in plain PyTorch: one process, torchrun and Ray Train call the same function."""
