"""Learn to put things in order: exact pairwise ranking with a scikit-learn interface."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names
from rankwise.data import backends

if TYPE_CHECKING:
    from rankwise import datasets, evaluation, metrics, model_selection, objectives, plotting
    from rankwise.auto.ranker import AutoRanker
    from rankwise.calibration.thresholds import fit_thresholds
    from rankwise.estimators import (
        BoostedRanker,
        BoostedRankerCV,
        BradleyTerry,
        BradleyTerryCV,
        CurveRanker,
        CurveRankerCV,
        HullRanker,
        HullRankerCV,
        KernelRanker,
        OrdinalSVM,
        OrdinalSVMCV,
        RankLogistic,
        RankLogisticCV,
        RankRLS,
        RankRLSCV,
        RankSVM,
        RankSVMCV,
    )
    from rankwise.evaluation.conformal import ConformalRanks
    from rankwise.evaluation.through_pipeline import explain_pair, inference, rank
    from rankwise.export import export_model
    from rankwise.io.checkpoint import Checkpoint
    from rankwise.io.model_file import ModelFileError, load_model, save_model
    from rankwise.preferences import NoPairsError, Preferences, pair_data, qid_from_sizes
    from rankwise.preprocessing import scale_within_queries

__version__ = "0.1.0"
__all__ = [
    "AutoRanker",
    "BoostedRanker",
    "BoostedRankerCV",
    "BradleyTerry",
    "BradleyTerryCV",
    "Checkpoint",
    "ConformalRanks",
    "CurveRanker",
    "CurveRankerCV",
    "HullRanker",
    "HullRankerCV",
    "KernelRanker",
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
    "datasets",
    "evaluation",
    "explain_pair",
    "export_model",
    "fit_temperature",
    "fit_thresholds",
    "inference",
    "load_model",
    "metrics",
    "model_selection",
    "objectives",
    "pair_data",
    "plotting",
    "qid_from_sizes",
    "rank",
    "save_model",
    "scale_within_queries",
]

# Rows need not be in memory: these packages know where else they can be.
backends.announce("rankwise.distributed")

# Names are imported on first use, so that `import rankwise` takes little time.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.auto.ranker": ["AutoRanker"],
        "rankwise.calibration.temperature": ["fit_temperature"],
        "rankwise.calibration.thresholds": ["fit_thresholds"],
        "rankwise.datasets": ["datasets"],
        "rankwise.estimators": [
            "BoostedRanker",
            "BoostedRankerCV",
            "BradleyTerry",
            "BradleyTerryCV",
            "CurveRanker",
            "CurveRankerCV",
            "HullRanker",
            "HullRankerCV",
            "KernelRanker",
            "OrdinalSVM",
            "OrdinalSVMCV",
            "RankLogistic",
            "RankLogisticCV",
            "RankRLS",
            "RankRLSCV",
            "RankSVM",
            "RankSVMCV",
        ],
        "rankwise.evaluation": ["evaluation"],
        "rankwise.evaluation.conformal": ["ConformalRanks"],
        "rankwise.evaluation.through_pipeline": ["explain_pair", "inference", "rank"],
        "rankwise.export": ["export_model"],
        "rankwise.io.checkpoint": ["Checkpoint"],
        "rankwise.io.model_file": ["ModelFileError", "load_model", "save_model"],
        "rankwise.metrics": ["metrics"],
        "rankwise.model_selection": ["model_selection"],
        "rankwise.objectives": ["objectives"],
        "rankwise.plotting": ["plotting"],
        "rankwise.preferences": ["NoPairsError", "Preferences", "pair_data", "qid_from_sizes"],
        "rankwise.preprocessing": ["scale_within_queries"],
    },
)
