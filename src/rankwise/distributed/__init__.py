"""The same estimators past one machine: rows in Dask partitions, exact solutions."""

from rankwise.distributed.collections import Partitions, gathered, is_distributed, lazy_scores, scatter
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.faults import PartitionLostError, RoundLog
from rankwise.distributed.files import FileData, from_files

__all__ = [
    "DaskDesign",
    "FileData",
    "PartitionLostError",
    "Partitions",
    "RoundLog",
    "from_files",
    "gathered",
    "is_distributed",
    "lazy_scores",
    "scatter",
]
