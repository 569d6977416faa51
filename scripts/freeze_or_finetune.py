"""When to freeze word vectors: a classifier whose table is random, w2v frozen, or w2v fine-tuned.

    scripts/freeze_or_finetune                     is the article on a person, a place, nature or society?
    scripts/freeze_or_finetune war.txt love.txt    your own classes: a file each, a sentence a line

The classifier is the mean of a sentence's vectors, dropout, and a linear layer; only its table differs. For
each way and size the learning rate that does best on development sentences is taken, and a run stops at its
best step there. Accuracy is on other sentences, mean and standard deviation over seeds, which draw sentences
and weights. The vectors are trained on the text of all sentences, also those of the test, but on no label.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

import w2v
from w2v.corpus.tools.demo import articles, sentences_of
from w2v.pytorch import Vocabulary, WordEmbedding, load_embedding

# How fast the table learns, as a part of the learning rate; None: it is frozen.
WAYS = {"random": 1.0, "frozen": None, "fine-tuned": 1.0, "fine-tuned at a tenth": 0.1}
RATES = (0.001, 0.003, 0.01, 0.03)
STEPS, EVERY, BATCH = 400, 40, 64
MOST_TOKENS = 100
_CATEGORY = re.compile(r"\[\[Category:([^\]|]*)")
# The first topic of which an article has a category.
_TOPICS = {
    "person": r"\b(births|deaths|philosophers)$",
    "place": r"^(countries|states|provinces|continents|oceans)\b|\bcountries\b",
    "nature": r"animals? (classes|described)|amphibians|algae|^(acids|alkanes|alkali metals)|chemical|"
    "anatomy|agronomy|extant|climatology|astronomy",
    "society": r"politic|social|ethic|\blaw\b|legal|moral|ideolog|conflicts|humanities",
}


class Examples(NamedTuple):
    """Sentences as ids (n, length), where tokens stand (n, length), and their classes (n,)."""

    ids: Tensor
    mask: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Split:
    """One draw of labelled sentences, and the sentences to choose settings and to test by."""

    train: Examples
    development: Examples
    test: Examples


class Classifier(nn.Module):
    """Mean of the vectors of a sentence, dropout, linear layer."""

    def __init__(self, embedding: nn.Embedding, n_classes: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(0.3)
        self.linear = nn.Linear(embedding.embedding_dim, n_classes)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        mean = self.embedding(ids).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
        scores: Tensor = self.linear(self.dropout(mean))
        return scores


def main() -> None:
    options = _parse()
    classes = _classes_of_files(options.files) if options.files else _classes_of_demo()
    for name, sentences in classes.items():
        print(f"{name}: {len(sentences):,} sentences")
    sizes = _possible_sizes(options.sizes, classes, options.held_out)
    model = _vectors(options, classes)
    print(f"w2v: {model}\n")
    torch.set_num_threads(1)  # so small a network is slower with more
    _print_row("labelled a class", *WAYS)
    for size in sizes:
        splits = [_draw(classes, size, options.held_out, model, seed) for seed in range(options.seeds)]
        _print_row(f"{size:,}", *(_result(model, splits, way) for way in WAYS))


def _print_row(*cells: str) -> None:
    print("  ".join(f"{cell:<23}" for cell in cells).rstrip(), flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="freeze_or_finetune"
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a class each, a sentence a line")
    parser.add_argument(
        "--vectors", type=Path, help="take these vectors, instead of training on the sentences"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[10, 100, 1000], help="labelled sentences a class"
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many draws (default: 5)")
    parser.add_argument(
        "--held-out", type=int, default=250, help="sentences a class, each, to choose settings and to test by"
    )
    options = parser.parse_args()
    if len(options.files) == 1:
        parser.error("one class alone leaves nothing to tell apart; name two files or more, or none")
    if min(*options.sizes, options.seeds, options.held_out) < 1:
        parser.error("sizes, seeds and sentences held out are at least 1")
    return options


def _classes_of_demo() -> dict[str, list[list[str]]]:
    classes: dict[str, list[list[str]]] = {name: [] for name in _TOPICS}
    classes["(no label)"] = []
    for text in articles():
        categories = _CATEGORY.findall(text)
        topics = (name for name, pattern in _TOPICS.items() if _has(categories, pattern))
        classes[next(topics, "(no label)")] += sentences_of(text)
    return classes


def _has(categories: Sequence[str], pattern: str) -> bool:
    return any(re.search(pattern, category, re.IGNORECASE) for category in categories)


def _classes_of_files(files: Sequence[Path]) -> dict[str, list[list[str]]]:
    classes = {}
    for path in files:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        classes[str(path)] = [tokens for line in lines if (tokens := line.split())]
    return classes


def _labelled(classes: dict[str, list[list[str]]]) -> list[list[list[str]]]:
    return [sentences for name, sentences in classes.items() if name != "(no label)"]


def _possible_sizes(sizes: Sequence[int], classes: dict[str, list[list[str]]], held_out: int) -> list[int]:
    most = min(map(len, _labelled(classes))) - 2 * held_out
    possible = [size for size in sorted(sizes) if size <= most]
    for size in sorted(set(sizes) - set(possible)):
        print(
            f"{size:,} labelled sentences a class are left out: beside those held out there are "
            f"{max(0, most):,}"
        )
    if not possible:
        sys.exit("no size is left; give more sentences a class, or lower --held-out")
    return possible


def _vectors(options: argparse.Namespace, classes: dict[str, list[list[str]]]) -> w2v.Embeddings:
    if options.vectors is not None:
        return w2v.load(options.vectors)
    sentences = [sentence for group in classes.values() for sentence in group]
    return w2v.train(sentences, min_count=2, window=8, workers=1)  # one worker: the same table every time


def _draw(
    classes: dict[str, list[list[str]]], size: int, held_out: int, model: w2v.Embeddings, seed: int
) -> Split:
    """Draw labelled sentences; those to choose and to test by are the same for every size of a seed."""
    vocab = load_embedding(model).vocab
    parts: list[list[tuple[int, list[str]]]] = [[], [], []]
    bounds = (0, held_out, 2 * held_out, 2 * held_out + size)
    for label, sentences in enumerate(_labelled(classes)):
        order = np.random.default_rng([seed, label]).permutation(len(sentences))
        for part, start, stop in zip(parts, bounds, bounds[1:], strict=False):
            part += [(label, sentences[i]) for i in order[start:stop]]
    test, development, train = (_encoded(part, vocab) for part in parts)
    return Split(train, development, test)


def _encoded(examples: Sequence[tuple[int, list[str]]], vocab: Vocabulary) -> Examples:
    ids, mask = vocab.encode([sentence for _, sentence in examples], max_length=MOST_TOKENS)
    return Examples(ids, mask, torch.tensor([label for label, _ in examples]))


def _result(model: w2v.Embeddings, splits: Sequence[Split], way: str) -> str:
    """Return the accuracy over the seeds, mean and deviation, at the rate that did best in development."""
    best_development, best_tests, best_rate = -1.0, [0.0], RATES[0]
    for rate in RATES:
        scores = [_train(model, split, way, rate, seed) for seed, split in enumerate(splits)]
        development = statistics.mean(score for score, _ in scores)
        if development > best_development:
            best_development, best_tests, best_rate = development, [test for _, test in scores], rate
    spread = statistics.stdev(best_tests) if len(best_tests) > 1 else 0.0
    return f"{100 * statistics.mean(best_tests):.1f} ± {100 * spread:.1f} (lr {best_rate:g})"


def _train(model: w2v.Embeddings, split: Split, way: str, rate: float, seed: int) -> tuple[float, float]:
    """Train one classifier; return its best accuracy in development, and the one in the test at that step."""
    torch.manual_seed(seed)
    n_classes = int(split.test.labels.max()) + 1
    classifier = Classifier(_table(model, way), n_classes)
    optimizers: list[torch.optim.Optimizer] = [torch.optim.Adam(classifier.linear.parameters(), lr=rate)]
    if (part := WAYS[way]) is not None:
        optimizers.append(torch.optim.SparseAdam(classifier.embedding.parameters(), lr=part * rate))
    best = (-1.0, 0.0)
    for step, (ids, mask, labels) in enumerate(_batches(split.train), 1):
        loss = nn.functional.cross_entropy(classifier(ids, mask), labels)
        for optimizer in optimizers:
            optimizer.zero_grad()
        torch.autograd.backward(loss)
        for optimizer in optimizers:
            optimizer.step()
        if step % EVERY == 0:
            development = _accuracy(classifier, split.development)
            if development > best[0]:
                best = (development, _accuracy(classifier, split.test))
    return best


def _table(model: w2v.Embeddings, way: str) -> WordEmbedding:
    embedding = load_embedding(model, freeze=WAYS[way] is None, sparse=True)
    if way == "random":
        words = embedding.weight.detach()[embedding.vocab.n_specials :]
        with torch.no_grad():
            embedding.weight[1:].normal_(0.0, float(words.std()))
    return embedding


def _batches(examples: Examples) -> Iterator[Examples]:
    """Yield as many batches as there are steps, pass after pass over the shuffled examples."""
    n, step = len(examples.labels), 0
    while True:
        for rows in torch.tensor_split(torch.randperm(n), tuple(range(BATCH, n, BATCH))):
            if step == STEPS:
                return
            step += 1
            longest = int(examples.mask[rows].sum(dim=1).max())
            yield Examples(examples.ids[rows, :longest], examples.mask[rows, :longest], examples.labels[rows])


@torch.no_grad()
def _accuracy(classifier: Classifier, examples: Examples) -> float:
    classifier.eval()
    found = classifier(examples.ids, examples.mask).argmax(dim=1)
    classifier.train()
    return float((found == examples.labels).float().mean())


if __name__ == "__main__":
    main()
