"""Files, whatever is in them: written whole or not at all, packed, matrices, escapes."""
