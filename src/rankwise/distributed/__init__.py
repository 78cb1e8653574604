"""Fits on Dask partitions, for data larger than one machine; the solutions are exact."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names
from rankwise.data.backends import register
from rankwise.data.design import zero_scores
from rankwise.distributed.backend import DaskBackend
from rankwise.distributed.collections import Partitions, gathered, is_distributed, lazy_scores, scatter
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.faults import PartitionLostError, RoundLog, WorkersSilentError
from rankwise.distributed.files import FileData, from_files
from rankwise.distributed.part_columns import PartColumn
from rankwise.distributed.remote_labels import RemotePreferences
from rankwise.distributed.whole_queries import WholeQueryDesign, no_scores
from rankwise.distributed.whole_squares import remote_squares
from rankwise.losses.least_squares import squares_of

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
    "lazy_scores",
    "scatter",
]

# Pipelines import scikit-learn's steps.
__getattr__, _ = lazy_names(
    __name__, {"rankwise.distributed.pipelines": ["fit_pipeline", "fit_steps", "lazy_predictions"]}
)

register(DaskBackend())
squares_of.register(RemotePreferences, remote_squares)
zero_scores.register(WholeQueryDesign, no_scores)
