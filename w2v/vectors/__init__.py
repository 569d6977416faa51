"""What a model is made of: words, counts, scores, reports. No files of vectors, no text."""
