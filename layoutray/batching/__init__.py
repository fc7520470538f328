"""From documents to tensors: windows of tokens, examples and batches."""
