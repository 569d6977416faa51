"""Files in general: atomic writes, compression, matrices, escapes, JSON."""
