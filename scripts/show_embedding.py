"""Load a model into PyTorch and show that the row of a word is the model's own vector."""

import sys

import torch

import w2v
import w2v.pytorch


def main(path: str, word: str) -> None:
    model = w2v.load(path)
    embedding = w2v.pytorch.load_embedding(model, freeze=True)
    print(f"{embedding}, an nn.Embedding: {isinstance(embedding, torch.nn.Embedding)}")
    row_id = embedding.vocab.token_id(word)
    row = embedding.weight[row_id]
    print(f"row {row_id} is {word!r}: {[round(number, 4) for number in row[:5].tolist()]} ...")
    if row.tolist() != model[word].tolist():
        sys.exit(f"row {row_id} is not the model's vector of {word!r}")
    print(f"equal to the model's vector of {word!r}: True; frozen: {not embedding.weight.requires_grad}")


if __name__ == "__main__":
    main(*sys.argv[1:])
