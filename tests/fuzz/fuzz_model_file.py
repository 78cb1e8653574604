"""Fuzz the reader of model files: what is damaged or hostile is refused, and does nothing else.

    python tests/fuzz/fuzz_model_file.py -max_total_time=60 tests/fuzz/corpus/model_file

Needs atheris. The first byte of the input chooses what happens to a valid file: bytes are overwritten, it is
cut, its header is replaced or patched and the checksum made right again, or the input is the file itself.
"""

import hashlib
import io
import json
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
from fuzzing import overwritten, run
from scipy import sparse

from rankwise import RankRLS, RankSVM
from rankwise.io import model_file, model_layout, model_values
from rankwise.io.model_file import ModelFileError, load_model, save_model
from rankwise.io.model_layout import read_layout, write_layout

# What `predict` says of rows that do not fit the model.
REFUSALS = r"X has 3 features, but \w+ is expecting \d+ features as input"
ROWS = np.array([[0.0, 1.0, 2.0], [1.0, 0.5, 0.0], [2.0, 2.0, 1.0], [0.5, 0.0, 3.0]])


class Target:
    """A folder with valid models, and the check that loading what becomes of them is harmless."""

    def __init__(self, folder):
        self.path = Path(folder) / "model.json"
        y = [0, 1, 2, 1]
        sparse_rows = sparse.csr_matrix(ROWS)
        models = [
            RankSVM().fit(ROWS, y),
            RankSVM(kernel="rbf").fit(sparse_rows, y),
            RankRLS(kernel="poly").fit(ROWS, y),
        ]
        self.valid = []
        for model in models:
            save_model(model, self.path, metadata={"name": "fuzz"})
            with open(self.path, "rb") as file:
                self.valid.append((self.path.read_bytes(), *read_layout(file), model.predict(ROWS)))

    def check(self, data):
        """Load a file made of the data: the same model or a refusal comes out, and nothing else happens."""
        choice, rest = (data[0], data[1:]) if data else (0, b"")
        content, header, arrays, scores = self.valid[choice % 3]
        action = choice // 3 % 5
        if action == 0:
            self.check_bytes(rest, None)
        elif action == 1:
            self.check_bytes(overwritten(content, rest), scores)
        elif action == 2:
            self.check_bytes(content[: int.from_bytes(rest[:3], "little") % (len(content) + 1)], scores)
        elif action == 3:
            text = json.dumps(header).encode()
            self.check_header(overwritten(text, rest), arrays)
        else:
            self.check_header(rest, arrays)

    def check_bytes(self, content, scores):
        """A damaged file is refused, and an undamaged one gives the same scores."""
        self.path.write_bytes(content)
        try:
            model = load_model(self.path)
        except ModelFileError:
            return
        assert scores is not None, "bytes out of nowhere were taken for a model"
        assert np.array_equal(model.predict(ROWS), scores)

    def check_header(self, text, arrays):
        """A header that somebody signed is refused, or gives a model that scores rows or says why not."""
        try:
            header = json.loads(text)
            header["metadata"]
        except Exception:
            return
        buffer = io.BytesIO()
        try:
            write_signed(buffer, header, arrays)
        except (ValueError, RecursionError):
            return
        self.path.write_bytes(buffer.getvalue())
        try:
            model = load_model(self.path)
        except ModelFileError:
            return
        try:
            scores = predicted(model)
        except ValueError as error:
            if re.match(REFUSALS, str(error)):
                return
            raise
        assert len(scores) == len(ROWS)
        assert np.isfinite(scores).all() or has_powers(model)


def predicted(model):
    """Score the rows, whatever names the model would have their columns have."""
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model.predict(ROWS)


def has_powers(model):
    """Whether scores may be too large for a number, as powers of a degree that a signed header names may."""
    return not hasattr(model, "coef_") and model._kernel_arguments["kernel"] == "poly"


def write_signed(file, header, arrays):
    """Write a file with a right checksum, whatever the header declares of the arrays."""
    declared = header.get("arrays")
    whole = io.BytesIO()
    write_layout(whole, {key: value for key, value in header.items() if key != "arrays"}, arrays)
    content = whole.getvalue()
    with tempfile.TemporaryFile() as handle:
        handle.write(content)
        handle.seek(0)
        honest = read_layout(handle)[0]
    before = json.dumps(honest, separators=(",", ":")).encode()
    after = json.dumps(honest | {"arrays": declared}, separators=(",", ":"), allow_nan=False).encode()
    file.write(signed(content.replace(before, after, 1)))


def signed(content):
    """Return the content with a checksum that is right."""
    body = content[:-67]  # 64 digits, a quotation mark, a brace and a line break
    return body + hashlib.sha256(body).hexdigest().encode() + content[-3:]


def main():
    """Run until a limit of libFuzzer's is reached."""
    with tempfile.TemporaryDirectory() as folder:
        run(Target(folder).check, model_file, model_layout, model_values)


if __name__ == "__main__":
    main()
