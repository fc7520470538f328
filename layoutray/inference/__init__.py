"""What a trained model says of pages: entities, or texts that it writes."""
