"""Training: an encoded corpus and settings become an embedding matrix."""
