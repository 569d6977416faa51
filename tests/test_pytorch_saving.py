"""Embeddings in files, and the commands that write them; with and without torch installed."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from vector_strategies import embeddings, same_bits, some_model

import w2v
from w2v import ConfigError, Embeddings, FormatError
from w2v.cli import cli
from w2v.config import CorpusConfig
from w2v.corpus.tokens.tokenizers import describe
from w2v.vectors.origin import Origin, Reading

pytest.importorskip("torch")
import torch
from safetensors.torch import load_file
from torch import nn

from w2v.pytorch import from_embedding, load_embedding, save_checkpoint, save_embedding

SOME = some_model(40, 6)
MODEL = Embeddings(
    SOME.vocab, SOME.vectors, SOME.vectors * 2, Origin.from_dict({"settings": {"window": np.int64(5)}})
)
WORDS = list(MODEL.words)
PARTS = {"embedding.safetensors", "vocab.json", "config.json", "counts.npy"}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_embedding(load_embedding(MODEL, specials=["<cls>"]), tmp_path / "e")
    return tmp_path / "e"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    MODEL.save(tmp_path / "m")
    return tmp_path / "m"


# -- the folder -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("freeze", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_everything_survives(tmp_path: Path, freeze: bool, dtype: torch.dtype) -> None:
    embedding = load_embedding(
        MODEL, freeze=freeze, dtype=dtype, specials=["<cls>"], sparse=True, max_norm=1.5, scale=0.5
    )
    save_embedding(embedding, tmp_path / "e")
    assert {path.name for path in (tmp_path / "e").iterdir()} == PARTS
    read = load_embedding(tmp_path / "e")
    assert torch.equal(read.weight, embedding.weight)
    assert read.weight.dtype == dtype
    assert read.weight.requires_grad == (not freeze)
    assert (read.padding_idx, read.sparse, read.scale) == (0, True, 0.5)
    assert read.max_norm == embedding.max_norm == (None if freeze else 1.5)
    assert read.vocab.tokens == embedding.vocab.tokens
    assert (read.vocab.padding_id, read.vocab.unknown_id, read.vocab.n_specials) == (0, 1, 3)
    assert read.vocab.counts is not None
    assert (read.vocab.counts[3:] == MODEL.counts).all()
    assert read.provenance == {"table": "vectors", "model": {"settings": {"window": 5}}}


def test_what_is_in_the_folder_anyone_can_read(saved: Path) -> None:
    weight = load_file(saved / "embedding.safetensors")
    plain = nn.Embedding(43, 6, padding_idx=0)
    plain.load_state_dict(weight)
    ids = json.loads((saved / "vocab.json").read_text(encoding="utf-8"))
    assert ids["<pad>"] == 0
    for word in WORDS:
        assert same_bits(plain.weight[ids[word]].detach().numpy(), MODEL[word])
    config = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    assert config["freeze"] is True
    assert (config["padding"], config["padding_id"]) == ("<pad>", 0)
    assert (config["specials"], config["n_specials"]) == (["<pad>", "<unk>", "<cls>"], 3)
    assert config["scale"] == 1
    assert config["provenance"]["model"]["settings"] == {"window": 5}
    modes = {path.stat().st_mode for path in saved.iterdir()}
    assert len(modes) == 1


def test_a_saved_embedding_is_trained_without_touching_its_file(saved: Path) -> None:
    before = (saved / "embedding.safetensors").read_bytes()
    embedding = load_embedding(saved, freeze=False)
    with torch.no_grad():
        embedding.weight.fill_(3)
    assert (saved / "embedding.safetensors").read_bytes() == before
    assert not load_embedding(saved).weight[0].any()


def test_a_saved_embedding_takes_the_options_of_use(saved: Path) -> None:
    embedding = load_embedding(saved, freeze=False, dtype=torch.float64, sparse=True, max_norm=2.0, scale=2.0)
    assert embedding.weight.requires_grad
    assert (embedding.weight.dtype, embedding.sparse, embedding.max_norm) == (torch.float64, True, 2.0)
    assert embedding.scale == 2.0
    assert torch.equal(embedding.weight, load_embedding(saved).weight.double() * 2)
    cut = load_embedding(saved, max_norm=1.5)
    assert cut.weight.norm(dim=1).max() < 1.5 + 1e-5
    for options in ({"padding": None}, {"specials": ["<x>"]}, {"context": True}, {"unknown_init": "zero"}):
        with pytest.raises(ConfigError, match="a saved embedding has its rows already"):
            load_embedding(saved, **options)


def test_fine_tuned_saved_and_asked_for_neighbours(tmp_path: Path) -> None:
    embedding = load_embedding(MODEL, freeze=False)
    with torch.no_grad():
        embedding.weight[embedding.vocab.token_id(WORDS[3])] = embedding.weight[10]
    save_embedding(embedding, tmp_path / "e")
    result = run("neighbors", tmp_path / "e", WORDS[3], "-n", "1", "--json")
    assert json.loads(result.stdout)["results"][0]["neighbors"][0]["word"] == WORDS[8]
    model = w2v.load(tmp_path / "e")
    assert same_bits(np.array(model.vectors), from_embedding(embedding).vectors)
    assert list(model.words) == WORDS
    assert (model.counts == MODEL.counts).all()
    save_embedding(embedding.to(torch.bfloat16), tmp_path / "e")
    assert same_bits(
        np.array(w2v.load(tmp_path / "e").vectors), embedding.weight.detach()[2:].float().numpy()
    )


@given(model=embeddings())
def test_any_word_survives(tmp_path_factory: pytest.TempPathFactory, model: Embeddings) -> None:
    path = tmp_path_factory.getbasetemp() / "any.torch"
    embedding = load_embedding(model)
    save_embedding(embedding, path)
    read = load_embedding(path)
    assert read.vocab.tokens == embedding.vocab.tokens
    assert torch.equal(read.weight, embedding.weight)
    assert list(w2v.load(path).words) == list(model.words)


def test_text_is_cut_as_the_corpus_was_wherever_the_vectors_go(tmp_path: Path) -> None:
    reading = describe(CorpusConfig(lowercase=True, numbers="zero"))
    vocab = w2v.Vocab(["the", "00", "12"], np.array([3, 2, 1]))
    embedding = load_embedding(Embeddings(vocab, SOME.vectors[:3], origin=Origin(reading=Reading(reading))))
    save_embedding(embedding, tmp_path / "e")
    from_embedding(embedding).save(tmp_path / "m")
    w2v.load(tmp_path / "e").save(tmp_path / "n")
    assert embedding.vocab.encode(["The 12"]).ids.tolist() == [[2, 3]]
    for source in (tmp_path / "e", tmp_path / "m", tmp_path / "n"):
        read = load_embedding(source).vocab
        for copied in (read, pickle.loads(pickle.dumps(read))):  # noqa: S301
            assert copied.encode(["The 12", ["The", "12"]]).ids.tolist() == [[2, 3], [2, 4]]


def test_a_lone_surrogate_survives(tmp_path: Path) -> None:
    model = Embeddings(w2v.Vocab(["a", "b\ud800"], np.array([2, 1])), SOME.vectors[:2])
    save_embedding(load_embedding(model), tmp_path / "e")
    assert load_embedding(tmp_path / "e").vocab.tokens == ["<pad>", "<unk>", "a", "b\ud800"]


def test_a_padding_row_that_was_written_to_is_saved_as_zero_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedding = load_embedding(MODEL, freeze=False)
    with torch.no_grad():
        embedding.weight[0] = 1
    save_embedding(embedding, tmp_path / "e")
    assert "the padding row was no longer zero" in caplog.text
    assert embedding.weight[0].any()
    assert not load_embedding(tmp_path / "e").weight[0].any()


def test_nothing_else_is_overwritten(saved: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    with pytest.raises(ConfigError, match="meta device and has no numbers"):
        save_embedding(load_embedding(MODEL, device="meta"), saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for target in ("other", "file"):
        with pytest.raises(FormatError, match="is there already"):
            save_embedding(load_embedding(MODEL), tmp_path / target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e", "file", "other"]


@pytest.mark.parametrize("name", ["embedding.safetensors", "vocab.json"])
def test_a_folder_that_lacks_a_part_is_refused(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(FormatError, match=f"incomplete: {name} is missing"):
        load_embedding(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 2}, "written in format version 2, but this w2v reads up to 1"),
        ({"format_version": "1"}, r"expected a format_version of 1 or more, got '1'"),
        ({"padding_id": 43}, "expected padding_id to be 0 to 42 or null, got 43"),
        ({"padding_id": True}, "expected padding_id to be 0 to 42"),
        ({"n_specials": -1}, "expected n_specials to be 0 to 43"),
        ({"freeze": "yes"}, "freeze is 'yes', a str"),
        ({"scale": None}, "scale is None"),
        ({"max_norm": "1"}, "max_norm is '1'"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(saved: Path, change: dict[str, Any], message: str) -> None:
    config = json.loads((saved / "config.json").read_bytes())
    (saved / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(FormatError, match=message):
        load_embedding(saved)


def test_parts_that_disagree_are_refused(saved: Path) -> None:
    ids = json.loads((saved / "vocab.json").read_bytes())
    (saved / "vocab.json").write_text(json.dumps({**ids, "more": 43}))
    (saved / "counts.npy").unlink()
    with pytest.raises(FormatError, match="expected real numbers in 44 rows, one a token"):
        load_embedding(saved)
    (saved / "vocab.json").write_text(json.dumps({**ids, "<pad>": 7}))
    with pytest.raises(FormatError, match="both have the id 7"):
        load_embedding(saved)
    (saved / "embedding.safetensors").write_bytes(b"nothing")
    (saved / "vocab.json").write_text(json.dumps(ids))
    with pytest.raises(FormatError, match="not readable as safetensors"):
        load_embedding(saved)


@pytest.mark.parametrize("save", [save_embedding, save_checkpoint])
def test_a_table_that_was_resized_is_not_saved_over_a_good_one(saved: Path, save: Any) -> None:
    target = saved if save is save_embedding else saved.parent / "e.pt"
    embedding = load_embedding(MODEL)
    embedding.weight = nn.Parameter(
        torch.cat([embedding.weight, torch.zeros(3, 6)])
    )  # resize_token_embeddings
    embedding.num_embeddings += 3
    with pytest.raises(
        ConfigError, match="the table has 45 rows, but its vocabulary 42 tokens; was it resized"
    ):
        save(embedding, target)
    assert len(load_embedding(saved).weight) == 43


@pytest.mark.parametrize("save", [save_embedding, save_checkpoint])
def test_a_table_that_is_not_finite_is_not_saved(tmp_path: Path, save: Any) -> None:
    embedding = load_embedding(MODEL, freeze=False)
    with torch.no_grad():
        embedding.weight[5, 2] = torch.nan
    with pytest.raises(ConfigError, match=f"the row of {WORDS[3]!r} holds NaN or infinity; it is not saved"):
        save(embedding, tmp_path / "e")
    assert not list(tmp_path.iterdir())


def test_a_saved_table_that_is_not_finite_is_named(saved: Path) -> None:
    path = saved / "embedding.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + np.float32(np.inf).tobytes())
    with pytest.raises(FormatError, match=f"the row of {WORDS[-1]!r} holds NaN or infinity"):
        load_embedding(saved)


def test_a_checkpoint_opens_without_pickled_code(tmp_path: Path) -> None:
    embedding = load_embedding(MODEL, freeze=False)
    save_checkpoint(embedding, tmp_path / "e.pt")
    read = torch.load(tmp_path / "e.pt", weights_only=True)
    assert torch.equal(read["weight"], embedding.weight)
    assert read["tokens"] == embedding.vocab.tokens
    assert read["counts"].tolist() == [0, 0, *MODEL.counts.tolist()]
    assert read["config"]["freeze"] is False
    assert read["config"]["provenance"]["model"]["settings"] == {"window": 5}
    with pytest.raises(FormatError, match="a PyTorch checkpoint, which holds a pickle"):
        load_embedding(tmp_path / "e.pt")


# -- the command ------------------------------------------------------------------------------------------


def test_export_writes_what_load_embedding_reads(folder: Path) -> None:
    out = folder.parent / "out"
    result = run("export", folder, "--to", "torch", "-o", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert (
        result.stderr
        == f"{out}: 42 rows, 6 dimensions (<pad> is row 0, <unk> is row 1, words from row 2), frozen\n"
    )
    read = load_embedding(out)
    assert torch.equal(read.weight, load_embedding(MODEL).weight)
    assert run("export", folder, "--to", "torch", "-o", out, "--trainable").exit_code == 0
    assert load_embedding(out).weight.requires_grad


def test_export_takes_the_options_of_load_embedding(folder: Path) -> None:
    out = folder.parent / "out"
    options = ["--padding", "[PAD]", "--no-unknown", "--special", "<a>", "--special", "<b>", "--seed", "3"]
    options += ["--scale", "2", "--max-norm", "3", "--context", "--dtype", "bfloat16", "--top", "5"]
    result = run("export", folder, "--to", "torch", "-o", out, *options)
    assert result.exit_code == 0, result.stderr
    expected = load_embedding(
        MODEL.rows(slice(5)),
        padding="[PAD]",
        unknown=None,
        specials=["<a>", "<b>"],
        seed=3,
        scale=2,
        max_norm=3,
        context=True,
        dtype=torch.bfloat16,
    )
    read = load_embedding(out)
    assert torch.equal(read.weight, expected.weight)
    assert read.vocab.tokens == expected.vocab.tokens
    assert read.provenance["table"] == "context"
    assert run("convert", folder, folder.parent / "o.torch", "--no-padding").exit_code == 0
    assert load_embedding(folder.parent / "o.torch").padding_idx is None


def test_export_of_a_checkpoint(folder: Path) -> None:
    for name, options in (("a.pt", []), ("b", ["--to", "torch-pt"])):
        assert run("export", folder, "-o", folder.parent / name, *options).exit_code == 0
        read = torch.load(folder.parent / name, weights_only=True)
        assert torch.equal(read["weight"], load_embedding(MODEL).weight)


def test_export_for_a_vocabulary(folder: Path) -> None:
    out = folder.parent / "out"
    theirs = ["[PAD]", WORDS[4].upper(), "nothing", WORDS[1]]
    (folder.parent / "v.json").write_text(json.dumps({token: row for row, token in enumerate(theirs)}))
    options = ["--matching", str(folder.parent / "v.json"), "--fold-case", "--unknown-init", "zero"]
    result = run("export", folder, "--to", "torch", "-o", out, *options)
    assert result.exit_code == 0, result.stderr
    assert (
        "3 tokens: 1 matched exactly (33.3 %), 1 after case folding (33.3 %), 1 not at all" in result.stderr
    )
    read = load_embedding(out)
    assert list(read.vocab.tokens) == theirs
    assert read.padding_idx == 0
    assert same_bits(read.weight[[1, 3]].numpy(), MODEL.vectors[[4, 1]])
    assert not read.weight[2].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "npy", "--special", "<a>"], "--special is for --to torch and --to torch-pt, not for npy"),
        (["--to", "npy", "--trainable"], "--freeze is for --to torch"),
        (["--to", "torch", "--fold-case"], "--fold-case needs --matching"),
        (["--to", "torch", "--matching", "v", "--special", "<a>"], "--special does not go with --matching"),
        (["--to", "torch", "--scale", "0"], "0.0 is not in the range"),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(folder: Path, options: list[str], message: str) -> None:
    result = run("export", folder, "-o", folder.parent / "out", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (folder.parent / "out").exists()


# -- without torch ----------------------------------------------------------------------------------------


def without(package: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter in which a package cannot be imported."""
    hidden = f"import sys; sys.modules[{package!r}] = None\n"
    command = [sys.executable, "-W", "error", "-c", hidden + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_everything_else_works_without_torch(folder: Path) -> None:
    save_embedding(load_embedding(MODEL), folder.parent / "e")
    code = f"""
import w2v
model = w2v.load({str(folder)!r})
w2v.text_vectors(model, [["a"], ["b"]])
w2v.load({str(folder.parent / "e")!r})
from click.testing import CliRunner
from w2v.cli import cli
from w2v.config import CorpusConfig
from w2v.corpus.tokens.tokenizers import describe
for arguments in (["info", {str(folder)!r}], ["convert", {str(folder)!r}, {str(folder.parent / "o.npy")!r}],
                  ["neighbors", {str(folder)!r}, {WORDS[0]!r}], ["export", "--help"]):
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.stderr
"""
    done = without("torch", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("package", "kind"), [("torch", "torch"), ("torch", "torch-pt"), ("safetensors", "torch")]
)
def test_export_says_which_extra_is_missing(folder: Path, package: str, kind: str) -> None:
    arguments = [
        "w2v",
        "export",
        str(folder.parent / "not read"),
        "--to",
        kind,
        "-o",
        str(folder.parent / "o"),
    ]
    done = without(package, f"from w2v.cli import main; sys.argv = {arguments!r}; main()")
    message = f"Error: {package} is not installed; install it with: pip install {package}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)
    assert not (folder.parent / "o").exists()


def test_the_library_says_which_extra_is_missing() -> None:
    code = """
import w2v
for use in (lambda: w2v.pytorch.load_embedding, lambda: __import__("w2v.pytorch")):
    try:
        use()
    except w2v.MissingExtraError as error:
        assert isinstance(error, ImportError) and error.extra == "torch"
    else:
        raise SystemExit("no error")
"""
    done = without("torch", code)
    assert done.returncode == 0, done.stderr


def test_import_and_help_do_not_load_torch() -> None:
    modules = "w2v, w2v.cli.convert, w2v.formats.registry, w2v.pooling"
    code = f"import sys, {modules}; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
