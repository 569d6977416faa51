from . import pytorch as pytorch
from .alignment import align as align
from .api import train as train
from .comparison.compare import compare as compare
from .comparison.compare import compare_models as compare_models
from .embeddings import Embeddings as Embeddings
from .embeddings import Neighbor as Neighbor
from .embeddings import from_gensim as from_gensim
from .embeddings import load as load
from .errors import ConfigError as ConfigError
from .errors import CorpusError as CorpusError
from .errors import FormatError as FormatError
from .errors import MissingExtraError as MissingExtraError
from .errors import TokenIdError as TokenIdError
from .errors import TrainingError as TrainingError
from .errors import TrainingStoppedError as TrainingStoppedError
from .errors import UnknownWordError as UnknownWordError
from .errors import W2VError as W2VError
from .formats.registry import save_as as save_as
from .pooling import text_vectors as text_vectors
from .vectors.vocab import Vocab as Vocab

__version__: str
