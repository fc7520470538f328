"""Where documents become tensors."""
