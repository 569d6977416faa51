"""Files of vectors: one module a format, each reading and writing; `registry` has them all."""
