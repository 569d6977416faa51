"""Kill runs of `w2v train` at random moments, go on with them, and compare the end with a run left alone.

    python scripts/kill_and_resume.py FOLDER [--kills 200] [--seed 1]

One worker, a checkpoint after every round, the demo corpus. A fifth of the runs cannot write checkpoints: the
system refuses files of that size, as a full disk would. After each kill the older model and the checkpoint
must open whole; a run that is finished must have the bytes of the one that was never stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import w2v
from w2v.corpus.tools.demo import write_demo
from w2v.training.checkpoint import read_checkpoint

EPOCHS = 60
MATRIX_BYTES = 500_000  # a matrix of the demo corpus at 20 dimensions is larger


class Runs:
    """Runs in a folder: `whole`, which was never stopped, and `m`, which is killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.counts = {"kills": 0, "while writing": 0, "with a full disk": 0, "finished": 0}
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "demo.txt").open("wb") as file:
            write_demo(file)
        self.start("whole").wait()
        self.begin_again()

    def start(self, name: str, *options: str, full_disk: bool = False) -> subprocess.Popen[bytes]:
        """Start a run; `full_disk` lets it write no file as large as a matrix."""
        command = [sys.executable, "-m", "w2v", "train", "demo.txt", "-o", name, "--workers", "1"]
        settings = ["--vector-size", "20", "--cache-dir", "cache", "--epochs", str(EPOCHS)]
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*command, *settings, *options],
                cwd=self.folder,
                stderr=log,
                preexec_fn=_limit_files if full_disk else None,
            )

    def begin_again(self) -> None:
        """Let an older model stand where the run will write."""
        self.start("m", "--epochs", "1", "--seed", "7").wait()
        self.older = contents(self.folder / "m")

    def kill_one(self) -> None:
        """Go on with the run and kill it after a random time; check what is left."""
        full_disk = self.random.random() < 0.2 and (self.folder / "m.checkpoint").exists()
        process = self.start("m", "--checkpoint-every", "1e-6", "--resume", full_disk=full_disk)
        time.sleep(0.5 + 1.2 * self.random.random())
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            self.counts["kills"] += 1
            self.counts["while writing"] += any(self.folder.glob(".w2v-*.tmp/*"))
            self.counts["with a full disk"] += full_disk
        elif process.returncode != 0 and not full_disk:
            sys.exit((self.folder / "m.log").read_text()[-2000:])
        self.check()

    def check(self) -> None:
        """See that the model is the older one or the right one, and that the checkpoint opens whole."""
        w2v.load(self.folder / "m")
        if contents(self.folder / "m") != self.older:
            self.check_end()
        elif (self.folder / "m.checkpoint").exists():
            read_checkpoint(self.folder / "m.checkpoint")

    def check_end(self) -> None:
        """Compare a finished run with the one that was never stopped."""
        assert contents(self.folder / "m") == contents(self.folder / "whole"), "the bytes differ"
        self.counts["finished"] += 1
        if (self.folder / "m.checkpoint").exists():  # killed between saving the model and this
            self.start("m", "--resume").wait()
        self.begin_again()

    def finish(self) -> None:
        """Let the last run come to its end."""
        self.start("m", "--resume").wait()
        self.check()
        left = sorted(path.name for path in self.folder.glob("*.checkpoint"))
        assert not left, left


def contents(model: Path) -> dict[str, object]:
    """Return the bytes of a model's files, and the losses of its epochs."""
    found: dict[str, object] = {
        path.name: path.read_bytes() for path in model.iterdir() if path.name != "training.jsonl"
    }
    lines = map(json.loads, (model / "training.jsonl").read_text().splitlines())
    return found | {"losses": [(line["loss"], line["pairs"], line["alpha"]) for line in lines]}


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (MATRIX_BYTES, MATRIX_BYTES))


def main() -> None:
    """Kill, go on, compare; print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    runs = Runs(args.folder, args.seed)
    while runs.counts["kills"] < args.kills:
        runs.kill_one()
    runs.finish()
    print(json.dumps(runs.counts))


if __name__ == "__main__":
    main()
