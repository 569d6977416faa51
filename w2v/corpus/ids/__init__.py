"""From tokens to ids: numbering, the encoded corpus, the cache that keeps it."""
