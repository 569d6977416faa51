"""What else is done with a corpus: statistics, the demo corpus, public corpora."""
