"""From files to text: finding, opening, unpacking and decoding them; JSONL, CSV, Parquet, Wikipedia dumps."""
