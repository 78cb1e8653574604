from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

class RankingIndex:
    def __init__(
        self,
        row: NDArray[np.int32],
        level_begin: NDArray[np.int32],
        query_begin: NDArray[np.int64],
        position: NDArray[np.int32],
    ) -> None: ...

def stable_order(numbers: Vector) -> NDArray[np.int32]: ...
def count_ranking(
    scores: Vector, index: RankingIndex, margin: float, n_threads: int
) -> tuple[Vector, NDArray[np.int64], Vector]: ...
def count_order_errors(
    scores: Vector, index: RankingIndex, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def count_violations(
    scores: Vector, index: RankingIndex, margin: float, n_threads: int
) -> NDArray[np.int64]: ...
def sum_ranking(
    scores: Vector,
    index: RankingIndex,
    margin: float,
    method: str,
    weight: Vector | None,
    can_be_worse: Vector | None,
    gain: Vector | None,
    moment: Vector | None,
    n_threads: int,
) -> tuple[Vector, Vector, Vector | None, Vector | None]: ...
def sum_all_partners(
    index: RankingIndex,
    weight: Vector | None,
    can_be_worse: Vector | None,
    gain: Vector | None,
    moment: Vector | None,
    n_threads: int,
) -> tuple[Vector, Vector, Vector | None, Vector | None]: ...
def squared_hinge_ranking(
    scores: Vector,
    index: RankingIndex,
    query_factor: Vector,
    weight: Vector | None,
    can_be_worse: Vector | None,
    gain: Vector | None,
    n_threads: int,
) -> tuple[float, Vector, Vector]: ...
def plackett_luce(
    scores: Vector,
    index: RankingIndex,
    query_factor: Vector,
    weight: Vector | None,
    log_unit: float,
    event: Vector | None,
    efron: bool,
    with_diagonal: bool,
    direction: Vector | None,
    n_threads: int,
) -> tuple[Any, ...]: ...
def find_windows(scores: Vector, index: RankingIndex, margin: float, n_threads: int) -> NDArray[np.int32]: ...
def sum_moment(
    windows: NDArray[np.int32],
    index: RankingIndex,
    weight: Vector | None,
    can_be_worse: Vector | None,
    gain: Vector | None,
    moment: Vector,
    n_threads: int,
) -> Vector: ...
def sum_order_graph(
    scores: Vector,
    row: NDArray[np.int32],
    class_begin: NDArray[np.int64],
    higher: NDArray[np.int32],
    lower: NDArray[np.int32],
    margin: float,
    weight: Vector | None,
    moment: Vector | None,
    n_threads: int,
) -> tuple[Vector, Vector, Vector | None, Vector | None, Vector]: ...
def group_levels(index: RankingIndex, weight: Vector | None) -> tuple[NDArray[Any], ...]: ...
def logistic_gradient(
    scores: Vector,
    index: RankingIndex,
    groups: tuple[NDArray[Any], ...],
    query_factor: Vector,
    weight: Vector | None,
    can_be_worse: Vector | None,
    gain: Vector | None,
    balance: Vector,
    with_diagonal: bool,
    n_threads: int,
    widest: bool = True,
) -> tuple[float, Vector, Vector | None]: ...
def logistic_diagonal(
    scores: Vector,
    index: RankingIndex,
    groups: tuple[NDArray[Any], ...],
    query_factor: Vector,
    weight: Vector | None,
    can_be_worse: Vector | None,
    gain: Vector | None,
    n_threads: int,
    widest: bool = True,
) -> Vector: ...
def logistic_product(
    scores: Vector,
    index: RankingIndex,
    groups: tuple[NDArray[Any], ...],
    query_factor: Vector,
    weight: Vector | None,
    can_be_worse: Vector | None,
    gain: Vector | None,
    diagonal: Vector,
    direction: Vector,
    n_threads: int,
    widest: bool = True,
) -> Vector: ...
def number_names(names: list[Any], number_of: dict[Any, int]) -> NDArray[np.int32]: ...
def count_comparisons(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    outcome: NDArray[np.int8] | None,
    weight: Vector | None,
    n_items: int,
    ordered: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int32], Vector, Vector, Vector]: ...
def logistic_comparisons(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    share: Vector,
    lead: Vector,
    scores: Vector,
    offset: Vector | None,
    widest: bool = True,
) -> tuple[float, Vector, Vector, Vector]: ...
def simplex_qp(Q: Vector, b: Vector, z0: Vector, tol: float, max_iter: int) -> tuple[Vector, float, int]: ...
def simplex_qp_extended(
    Q: Vector, Q_low: Vector, b: Vector, z0: Vector, tol: float, max_iter: int
) -> tuple[Vector, Vector, float, int]: ...
def coordinate_descent(
    H: Vector,
    slopes: Vector,
    w: Vector,
    absolute: Vector,
    square: Vector,
    max_sweeps: int,
    tol: float,
) -> tuple[Vector, Vector, float]: ...
def extended_products(A: Vector, x: Vector) -> tuple[Vector, Vector]: ...
def extended_combination(A: Vector, z: Vector, z_low: Vector) -> Vector: ...
def row_scores(X: Vector, Z: Vector, n_threads: int = 1) -> Vector: ...
def row_products(X: Vector, Z: Vector, n_threads: int = 1) -> Vector: ...
def absolute_distances(X: Vector, Z: Vector, n_threads: int = 1) -> Vector: ...
def squared_distances(X: Vector, Z: Vector, n_threads: int = 1) -> Vector: ...
def twice_wrong_smoothed(
    P: Vector,
    first: int,
    second: int,
    labels: Vector,
    diagonal: Vector,
    left: Vector,
    own: Vector,
    tie: float,
    rounding: float,
) -> int: ...
def twice_wrong_classes(
    J: Vector, above: Vector, below: Vector, positive: Vector, negative: Vector, smallest: float
) -> int: ...
def csr_matvec(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], w: Vector, n_threads: int = 1
) -> Vector: ...
def csr_rmatvec(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    c: Vector,
    n_features: int,
    n_threads: int = 1,
    squared: bool = False,
) -> Vector: ...
def csr_scale(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], n_features: int
) -> tuple[Vector, NDArray[np.bool_]]: ...
def dense_matvec(X: NDArray[Any], w: Vector, n_threads: int = 1) -> Vector: ...
def dense_rmatvec(X: NDArray[Any], c: Vector, n_threads: int = 1) -> Vector: ...
def dense_weighted_squares(X: NDArray[Any], c: Vector, n_threads: int = 1) -> Vector: ...
def column_range(X: NDArray[Any]) -> tuple[Vector, Vector]: ...

class SvmlightReader:
    n_rows: int
    n_lines: int
    largest_index: int
    smallest_index: int
    def __init__(self, first_index: int, last_index: int, keep_comments: bool, n_threads: int) -> None: ...
    def read(self, text: NDArray[np.uint8], n_characters_left: int) -> tuple[int, str] | None: ...
    def take(self) -> dict[str, Any]: ...

class SvmlightReaderFloat32(SvmlightReader): ...

def svmlight_text(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[Any],
    y: Vector,
    queries: tuple[bytes, NDArray[np.int64]] | None,
    comments: tuple[bytes, NDArray[np.int64]] | None,
    first_index: int,
) -> bytes: ...
def count_wins(
    outcomes: list[tuple[Vector, Vector | None, float, bool]],
    n_rows: int,
    rows: NDArray[np.int32],
    begin: NDArray[np.int64],
    points: NDArray[np.int32],
    begin_of_points: NDArray[np.int64],
    weight: Vector | None,
    both: bool,
    n_threads: int,
) -> tuple[Vector, Vector]: ...
def list_wins(
    outcomes: list[tuple[Vector, Vector | None, float, bool]],
    n_rows: int,
    rows: NDArray[np.int32],
    begin: NDArray[np.int64],
    n_pairs: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
