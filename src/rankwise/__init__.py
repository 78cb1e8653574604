"""Learn to put things in order: exact pairwise ranking with a scikit-learn interface."""

from typing import TYPE_CHECKING

from rankwise.core import backends
from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.estimators.auto_ranker import AutoRanker as AutoRanker
    from rankwise.estimators.grouped_ranker import GroupedRanker as GroupedRanker
    from rankwise.estimators.temperature import fit_temperature as fit_temperature
    from rankwise.estimators.thresholds import fit_thresholds as fit_thresholds
    from rankwise import datasets as datasets
    from rankwise import distributed as distributed
    from rankwise.estimators import (
        BoostedRanker as BoostedRanker,
        BoostedRankerCV as BoostedRankerCV,
        BradleyTerry as BradleyTerry,
        BradleyTerryCV as BradleyTerryCV,
        CrowdBradleyTerry as CrowdBradleyTerry,
        CurveRanker as CurveRanker,
        CurveRankerCV as CurveRankerCV,
        HullRanker as HullRanker,
        HullRankerCV as HullRankerCV,
        KernelRanker as KernelRanker,
        OrdinalSVM as OrdinalSVM,
        OrdinalSVMCV as OrdinalSVMCV,
        PlackettLuce as PlackettLuce,
        PredictionPoweredBradleyTerry as PredictionPoweredBradleyTerry,
        RankLogistic as RankLogistic,
        RankLogisticCV as RankLogisticCV,
        RankPlackettLuce as RankPlackettLuce,
        RankPlackettLuceCV as RankPlackettLuceCV,
        RankRLS as RankRLS,
        RankRLSCV as RankRLSCV,
        RankSVM as RankSVM,
        RankSVMCV as RankSVMCV,
    )
    from rankwise import evaluation as evaluation
    from rankwise.evaluation.conformal import ConformalRanks as ConformalRanks
    from rankwise.evaluation.wins import win_statistics as win_statistics
    from rankwise.estimators.through_pipeline import (
        explain_pair as explain_pair,
        inference as inference,
        rank as rank,
    )
    from rankwise.io.export import export_model as export_model
    from rankwise.io.checkpoint import Checkpoint as Checkpoint
    from rankwise.io.model_file import (
        ModelFileError as ModelFileError,
        load_model as load_model,
        save_model as save_model,
    )
    from rankwise.leaderboard.score_table import ScoreTable as ScoreTable
    from rankwise import leaderboard as leaderboard
    from rankwise import losses as losses
    from rankwise import metrics as metrics
    from rankwise import model_selection as model_selection
    from rankwise import objectives as objectives
    from rankwise import plotting as plotting
    from rankwise import preprocessing as preprocessing
    from rankwise import report as report
    from rankwise.preferences import (
        NoPairsError as NoPairsError,
        Preferences as Preferences,
        pair_data as pair_data,
        qid_from_sizes as qid_from_sizes,
    )
    from rankwise.data.query_scaler import scale_within_queries as scale_within_queries

__version__ = "0.2.0"

# Rows need not be in memory: these packages know where else they can be.
backends.announce("rankwise.distributed", needs="dask")

# Names are imported on first use, so that `import rankwise` takes little time.
__getattr__, __dir__, __all__ = lazy_imports(__name__)
