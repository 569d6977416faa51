"""The parts of a model: words, counts, matrices, origin, reports; and how rows are scored."""
