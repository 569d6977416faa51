"""The benchmark beside gensim: `w2v bench` and `w2v.bench.measure.bench`."""
