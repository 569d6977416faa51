"""Comparison of w2v with gensim, and of any two embeddings: `w2v.compare` and `w2v.compare_models`.

Vectors of two trainings are never compared one by one. The loss stays the same when all vectors are turned
together, so every run ends in another turn of the space, and the same word's vectors in two runs of gensim
have nothing to do with each other. What can be compared is what does not change by turning: losses, answers,
neighbours, similarities, and distances after the best rotation.

Nothing is imported here, because the processes in which gensim trains pass through.
"""
