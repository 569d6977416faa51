"""Straight into PyTorch: word vectors as an `nn.Embedding`, and what is built on it. Needs the extra `torch`.

>>> import w2v.pytorch
>>> embedding = w2v.pytorch.load_embedding("my_model")  # doctest: +SKIP
>>> ids, mask = embedding.vocab.encode(["the king spoke", "a queen"])  # doctest: +SKIP
>>> vectors = embedding(ids)  # doctest: +SKIP
"""

from w2v.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401 - to say in one line what is missing
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise MissingExtraError("torch", "torch") from None

from w2v.formats.foreign import MatchReport
from w2v.pytorch.embedding import WordEmbedding, from_embedding
from w2v.pytorch.loading import Matched, load_embedding, match_vocabulary
from w2v.pytorch.saving import save_checkpoint, save_embedding
from w2v.pytorch.transformer import OutputHead, TransformerEmbedding
from w2v.pytorch.vocabulary import Batch, Vocabulary

__all__ = [
    "Batch",
    "MatchReport",
    "Matched",
    "OutputHead",
    "TransformerEmbedding",
    "Vocabulary",
    "WordEmbedding",
    "from_embedding",
    "load_embedding",
    "match_vocabulary",
    "save_checkpoint",
    "save_embedding",
]
