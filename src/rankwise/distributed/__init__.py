"""Fits on Dask partitions, for data larger than one machine; the solutions are exact."""

from rankwise.data.backends import register
from rankwise.distributed.backend import DaskBackend
from rankwise.distributed.collections import Partitions, gathered, is_distributed, lazy_scores, scatter
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.faults import PartitionLostError, RoundLog, WorkersSilentError
from rankwise.distributed.files import FileData, from_files

__all__ = [
    "DaskBackend",
    "DaskDesign",
    "FileData",
    "PartitionLostError",
    "Partitions",
    "RoundLog",
    "WorkersSilentError",
    "from_files",
    "gathered",
    "is_distributed",
    "lazy_scores",
    "scatter",
]

register(DaskBackend())
