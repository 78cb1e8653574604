"""Learn to put things in order: exact pairwise ranking with a scikit-learn interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise import places

if TYPE_CHECKING:
    from rankwise import datasets, evaluation, metrics, model_selection, objectives, plotting
    from rankwise.arrays import arrays_on_disk
    from rankwise.estimators import (
        BoostedRanker,
        BradleyTerry,
        CurveRanker,
        CurveRankerCV,
        HullRanker,
        HullRankerCV,
        OrdinalSVM,
        OrdinalSVMCV,
        RankLogistic,
        RankLogisticCV,
        RankRLS,
        RankRLSCV,
        RankSVM,
        RankSVMCV,
    )
    from rankwise.evaluation.through_pipeline import explain_pair, rank
    from rankwise.io.export import export_model
    from rankwise.io.model_file import ModelFileError, load_model, save_model
    from rankwise.preferences import NoPairsError, Preferences, pair_data
    from rankwise.preprocessing import scale_within_queries
    from rankwise.thresholds import fit_thresholds

__version__ = "0.1.0"
__all__ = [
    "BoostedRanker",
    "BradleyTerry",
    "CurveRanker",
    "CurveRankerCV",
    "HullRanker",
    "HullRankerCV",
    "ModelFileError",
    "NoPairsError",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "Preferences",
    "RankLogistic",
    "RankLogisticCV",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "RankSVMCV",
    "arrays_on_disk",
    "datasets",
    "evaluation",
    "explain_pair",
    "export_model",
    "fit_temperature",
    "fit_thresholds",
    "load_model",
    "metrics",
    "model_selection",
    "objectives",
    "pair_data",
    "plotting",
    "rank",
    "save_model",
    "scale_within_queries",
]

# Rows need not be in memory: these packages know where else they can be.
places.announce("rankwise.distributed")

# Where each name lives. Names are imported when first used: a command that prints its help needs none.
_HOMES = {
    "arrays": ("arrays_on_disk",),
    "estimators": (
        "BoostedRanker",
        "BradleyTerry",
        "CurveRanker",
        "CurveRankerCV",
        "HullRanker",
        "HullRankerCV",
        "OrdinalSVM",
        "OrdinalSVMCV",
        "RankLogistic",
        "RankLogisticCV",
        "RankRLS",
        "RankRLSCV",
        "RankSVM",
        "RankSVMCV",
    ),
    "evaluation.through_pipeline": ("explain_pair", "rank"),
    "io.export": ("export_model",),
    "io.model_file": ("ModelFileError", "load_model", "save_model"),
    "preferences": ("NoPairsError", "Preferences", "pair_data"),
    "preprocessing": ("scale_within_queries",),
    "temperature": ("fit_temperature",),
    "thresholds": ("fit_thresholds",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"rankwise.{_HOME_OF[name]}"), name)
    if name in __all__:
        return import_module(f"rankwise.{name}")
    raise AttributeError(f"module 'rankwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
