"""Fuzz the reader of SVMrank's model files: any bytes are a linear model of finite weights, or refused.

    python tests/fuzz/fuzz_svmrank_model.py -max_total_time=60 tests/fuzz/corpus/svmrank_model

Needs atheris.
"""

import tempfile
from pathlib import Path

import numpy as np
from fuzzing import run

from rankwise.io import svmrank
from rankwise.io.export import export_model
from rankwise.io.model_layout import ModelFileError
from rankwise.io.svmrank import read_svmrank_model

# Larger models are right, but slow to write again.
FEW_FEATURES = 10_000


def check(data: bytes) -> None:
    """Read the bytes; what is read, written and read again is the same model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dat"
        path.write_bytes(data)
        try:
            model = read_svmrank_model(path)
        except ModelFileError:
            return
        assert np.isfinite(model.coef_).all()
        if len(model.coef_) > FEW_FEATURES:
            return
        export_model(model, path, "svmrank")
        assert np.array_equal(read_svmrank_model(path).coef_, model.coef_)


if __name__ == "__main__":
    run(check, svmrank)
