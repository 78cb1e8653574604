"""Fuzz the reader of checkpoints: any bytes are a state of the announced types, or refused with a sentence.

    python tests/fuzz/fuzz_checkpoint.py -max_total_time=60 tests/fuzz/corpus/checkpoint

Needs atheris. The first byte chooses: the bytes are the file, overwrite a valid one, or are its header.
"""

import io
import tempfile
from pathlib import Path

import numpy as np
from fuzzing import overwritten, run

from rankwise.cli import checkpoint
from rankwise.cli.checkpoint import RunCheckpoint

FINGERPRINT = "0" * 32


def valid(folder):
    """Return the bytes of a checkpoint."""
    written = RunCheckpoint(f"{folder}/model", FINGERPRINT, 0.0)
    written.saved.coef = np.arange(3.0)
    written.saved.search = {"grid": np.ones(2), "errors": np.ones((1, 1, 2)), "above": np.ones((0, 0, 0))}
    written.write()
    return written.path.read_bytes()


def with_header(text):
    """Return the bytes of a whole file with this header."""
    file = io.BytesIO()
    np.savez(file, header=np.frombuffer(text, dtype=np.uint8), coef=np.arange(3.0))
    return file.getvalue()


with tempfile.TemporaryDirectory() as first:
    VALID = valid(first)


def check(data: bytes) -> None:
    """Load what becomes of the bytes; only ValueError may come, and it names the file."""
    choice, rest = (data[0], data[1:]) if data else (0, b"")
    content = (rest, overwritten(VALID, rest), with_header(rest))[choice % 3]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.checkpoint").write_bytes(content)
        loaded = RunCheckpoint(f"{folder}/model", FINGERPRINT, 0.0)
        try:
            loaded.load()
        except ValueError as error:
            if "model.checkpoint" not in str(error):
                raise


if __name__ == "__main__":
    run(check, checkpoint)
