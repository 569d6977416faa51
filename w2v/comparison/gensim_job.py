"""The process in which gensim trains: what a user of it would write, with a clock; nothing of w2v."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Do the job in the JSON file `argv[1]` and write its times to `result.json` in the job's folder."""
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_bytes())
    folder, settings = Path(job["folder"]), job["settings"]
    times = [time.perf_counter()]
    import gensim
    import numpy as np

    times.append(time.perf_counter())
    model = gensim.models.Word2Vec(
        min_count=job["min_count"],
        **{name: settings[name] for name in _SAME_NAMES},
        **job["gensim"],
    )
    model.build_vocab(corpus_file=job["text"]["path"])
    times.append(time.perf_counter())
    part = job["part"]
    cpu = time.process_time()
    n_kept, _ = model.train(
        corpus_file=part["path"],
        total_examples=part["sentences"],
        total_words=part["tokens"],
        epochs=model.epochs,
    )
    cpu = time.process_time() - cpu
    times.append(time.perf_counter())
    if job["save"]:
        np.save(folder / "vectors.npy", model.wv.vectors)
        np.save(folder / "context.npy", model.syn1neg)
        (folder / "words.txt").write_text("\n".join(model.wv.index_to_key), "utf-8", newline="\n")
        np.save(folder / "counts.npy", np.array(model.wv.expandos["count"], np.int64))
    times.append(time.perf_counter())
    n_words = part["tokens"] * model.epochs
    result = {
        "version": gensim.__version__,
        "import_seconds": times[1] - times[0],
        "read_seconds": times[2] - times[1],
        "prepare_seconds": 0.0,
        "train_seconds": times[3] - times[2],
        "save_seconds": times[4] - times[3],
        "words": n_words,
        "kept_words": n_kept,
        "words_per_second": n_words / (times[3] - times[2]),
        "words_per_cpu_second": n_words / cpu,
        "vocabulary": len(model.wv),
        "corpus_tokens": model.corpus_total_words,
    }
    (folder / "result.json").write_text(json.dumps(result))


_SAME_NAMES = (
    "vector_size",
    "alpha",
    "min_alpha",
    "window",
    "sample",
    "seed",
    "workers",
    "negative",
    "ns_exponent",
    "epochs",
    "shrink_windows",
)
