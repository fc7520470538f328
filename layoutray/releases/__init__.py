"""Released models as checkpoints, and checkpoints as folders of the transformers library."""
