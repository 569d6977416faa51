"""Files of vectors: one module a format, each reading and writing; see `w2v.formats.folder` for our own."""
