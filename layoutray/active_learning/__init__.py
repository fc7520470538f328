"""Which unlabelled documents a model would learn most from if people labelled them."""
