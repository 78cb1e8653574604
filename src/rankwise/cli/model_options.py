"""The options of `train` and `tune`: the model, the choice of its parameters, and checkpoints."""

from __future__ import annotations

from typing import Any

from rankwise.cli.arguments import (
    COUNT,
    FOLDS,
    GAMMA,
    NUMBER,
    NUMBERS,
    PART,
    POSITIVE,
    SECONDS,
    THREADS,
    WHOLE,
    order,
    value,
)
from rankwise.losses import LOSSES

METHODS = ("rank-svm", "rank-logistic", "rank-rls", "ordinal-svm", "hull", "boosted", "curve", "kernel")
SCALES = ("none", "standard", "minmax", "maxabs", "query-minmax", "query-standard", "query-rank")


def add_model_options(parser: Any, methods: tuple[str, ...] = METHODS) -> None:
    """Add the parameters of estimators; their defaults are those of the estimator."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--method", choices=methods, default="rank-svm", help="estimator (default: %(default)s)"
    )
    _add_loss_options(group)
    _add_kernel_options(group)
    _add_tree_and_curve_options(group)
    _add_class_options(group)
    group.add_argument(
        "--scale",
        choices=("auto", *SCALES),
        default="auto",
        help="scale the features first (default: auto, which is standard if words or gaps of a table are "
        "encoded as numbers, else none)",
    )
    group.add_argument(
        "--tol",
        type=POSITIVE,
        help="stop when the certified gap is below this fraction of the possible improvement",
    )
    group.add_argument("--max-iter", type=COUNT, help="maximal number of iterations")
    group.add_argument("--seed", type=WHOLE, default=0, help="random seed (default: 0)")
    group.add_argument("--jobs", type=THREADS, default=1, help="threads, -1 for all cores (default: 1)")
    _add_growth_options(group)


def _add_loss_options(group: Any) -> None:
    group.add_argument(
        "--loss",
        choices=[name.replace("_", "-") for name in (*LOSSES, "least_squares")],
        help="loss of a pair (rank-svm, ordinal-svm, boosted, curve, kernel; least-squares: only boosted and "
        "kernel)",
    )
    group.add_argument(
        "--cost", choices=("magnitude", "unit", "relative"), help="target difference of a pair (rank-rls)"
    )
    group.add_argument("--average", choices=("queries", "pairs"), help="mean over queries or over all pairs")
    group.add_argument(
        "--pair-weight",
        choices=("difference",),
        help="weight of a pair: the difference of its labels (rank-svm, rank-logistic, boosted, curve)",
    )


def _add_kernel_options(group: Any) -> None:
    group.add_argument(
        "--kernel",
        help="linear, exponential, or a kernel of scikit-learn such as rbf or poly (kernel: auto, laplacian, "
        "exponential or rbf)",
    )
    group.add_argument(
        "--gamma", type=GAMMA, help="width of the kernel: a number, scale, median, learned or learned-matrix"
    )
    group.add_argument("--degree", type=POSITIVE, help="degree of the polynomial kernel")
    group.add_argument("--coef0", type=NUMBER, help="constant of the polynomial and the sigmoid kernel")
    group.add_argument(
        "--n-components",
        type=COUNT,
        help="number of basis rows of a kernel (default: all rows; kernel: 2,000 to 3,000)",
    )


def _add_tree_and_curve_options(group: Any) -> None:
    group.add_argument("--n-estimators", type=COUNT, help="number of trees (boosted; default: chosen)")
    group.add_argument("--learning-rate", type=POSITIVE, help="factor of each tree (boosted; default: 0.05)")
    group.add_argument("--num-leaves", type=COUNT, help="leaves per tree (boosted; default: 15)")
    group.add_argument("--n-bins", type=COUNT, help="bins per feature (curve; default: 128)")
    group.add_argument("--shape", choices=("steps", "lines"), help="shape of the curves (curve)")
    group.add_argument(
        "--interactions", type=WHOLE, help="number of pairs of features with a table (curve; default: 0)"
    )


def _add_growth_options(group: Any) -> None:
    group.add_argument(
        "--min-child-samples", type=COUNT, help="fewest rows of a leaf (boosted; default: 20, or 10 of few)"
    )
    group.add_argument(
        "--early-stopping",
        choices=("auto", "yes", "no"),
        help="choose the number of trees on held-out parts of the training rows, by --metric (boosted; "
        "default: auto, which is yes without --n-estimators and with at least 100 rows)",
    )
    group.add_argument(
        "--validation-fraction", type=PART, help="fraction of such a part (boosted; default: 0.2)"
    )


def _add_class_options(group: Any) -> None:
    group.add_argument(
        "--thresholds", choices=("midpoint", "min-error"), help="boundaries between labels (ordinal-svm)"
    )
    group.add_argument(
        "--order",
        type=value(order, "chain, full, or edges such as 'good>fair,fair>bad'"),
        metavar="{chain,full,'A>B,...'}",
        help="a class is above the next lower one, above all lower ones, or by edges, in quotes (hull)",
    )
    group.add_argument("--slack", choices=("squared", "absolute"), help="penalty of violations (hull)")
    group.add_argument(
        "--slack-per", choices=("row", "edge"), help="one slack per row, or per row and edge (hull)"
    )
    group.add_argument(
        "--calibrated",
        action="store_true",
        default=None,
        help="learn probabilities of the labels by cross-fitting, for predict --proba (ordinal-svm)",
    )


def add_selection_options(parser: Any) -> None:
    """Add the options of cross-validation."""
    parser.add_argument(
        "--alphas",
        type=NUMBERS,
        metavar="A,B,...",
        help="candidates (default: powers of ten, for rank-rls of two, on the scale of the data)",
    )
    parser.add_argument("--folds", type=FOLDS, default=5, help="number of folds of queries (default: 5)")
    parser.add_argument(
        "--metric",
        "--scoring",
        dest="scoring",
        metavar="NAME",
        help="measure for the choice of alpha: error, concordance, ndcg@10, ndcg, map, mrr, p@5, tau or, "
        "with rank-logistic, log-loss and, with ordinal-svm, distance, the mean absolute error of predicted "
        "ranks (default: log-loss for rank-logistic, distance for ordinal-svm, error for the others)",
    )
    parser.add_argument(
        "--undefined",
        type=NUMBER,
        metavar="VALUE",
        help="value of ndcg, map and mrr for a query without relevant rows; 0 is LETOR's convention "
        "(default: the query is omitted)",
    )
    parser.add_argument(
        "--valid",
        nargs="+",
        metavar="DATA",
        help="files with validation rows for the choice of alpha, in place of folds",
    )


def add_checkpoint_options(parser: Any) -> None:
    """Add the options of checkpoints."""
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint, if there is one")
    parser.add_argument(
        "--checkpoint-every",
        type=SECONDS,
        default=60.0,
        metavar="SECONDS",
        help="interval of checkpoints, in a file with the name of the model and .checkpoint (default: 60)",
    )
