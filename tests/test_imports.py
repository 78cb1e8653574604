"""What `import rankwise` and a first fit import."""

import subprocess
import sys

IMPORTED = """
import sys
import numpy

import rankwise

def check(step, unneeded):
    found = unneeded & {name.partition(".")[0] for name in sys.modules}
    assert not found, (step, found)

OPTIONAL = {"pandas", "polars", "pyarrow", "matplotlib", "dask", "lightgbm", "onnx", "networkx"}
check("import", OPTIONAL | {"scipy", "sklearn", "joblib"})
import sklearn.base  # imports pandas if it is there

OPTIONAL -= {name.partition(".")[0] for name in sys.modules}
X = numpy.random.default_rng(0).standard_normal((50, 3))
for loss in ("hinge", "squared_hinge"):
    rankwise.RankSVM(loss=loss).fit(X, X[:, 0]).predict(X)
    check(loss, OPTIONAL)
"""


def test_no_optional_package_is_imported_before_it_is_used():
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
