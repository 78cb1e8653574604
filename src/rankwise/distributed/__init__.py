"""Fits on Dask partitions, for data larger than one machine; the solutions are exact.

The modules, from the workers up:

- tasks: `engine` runs functions on partitions, by `client` (a cluster, or threads of this machine);
  `faults` repeats rounds and names what was lost; `codec` makes messages smaller.
- rows as they were given: `collections`, `row_parts`, `part_columns`, `row_blocks`; from files: `files`,
  `file_parts`, `file_tables`.
- the data matrix: `design` is X w and X'c as rounds, with the functions of `blocks`; `partitioned` takes some
  of its rows; `normal_equations` and `groups` serve least squares.
- labels on the workers: `remote_labels` and `remote_folds` are preferences and a search, `whole_queries` and
  `whole_squares` losses, if every query is in one partition.
- steps before a model: `pipelines`.

`backend` joins all this to the rest of the library, which does not name Dask.
"""

from typing import TYPE_CHECKING

from rankwise.core.backends import register
from rankwise.core.lazy import lazy_imports
from rankwise.data.design import zero_scores
from rankwise.distributed.backend import DaskBackend
from rankwise.distributed.collections import Partitions, gathered, is_distributed, scatter
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.faults import PartitionLostError, RoundLog, WorkersSilentError
from rankwise.distributed.files import FileData, from_files
from rankwise.distributed.part_columns import PartColumn
from rankwise.distributed.remote_folds import RemoteFolds
from rankwise.distributed.remote_labels import RemotePreferences
from rankwise.distributed.whole_queries import WholeQueryDesign, no_scores
from rankwise.distributed.whole_squares import remote_squares
from rankwise.losses.least_squares import squares_of
from rankwise.model_selection.folds import FOLDS_OF

if TYPE_CHECKING:
    from rankwise.distributed.pipelines import fit_pipeline, fit_steps, lazy_predictions

__all__ = [
    "DaskBackend",
    "DaskDesign",
    "FileData",
    "PartColumn",
    "PartitionLostError",
    "Partitions",
    "RoundLog",
    "WorkersSilentError",
    "fit_pipeline",
    "fit_steps",
    "from_files",
    "gathered",
    "is_distributed",
    "lazy_predictions",
    "scatter",
]

# Pipelines import scikit-learn's steps.
__getattr__ = lazy_imports(__name__)[0]

register(DaskBackend())
squares_of.register(RemotePreferences, remote_squares)
FOLDS_OF[RemotePreferences] = RemoteFolds
zero_scores.register(WholeQueryDesign, no_scores)
