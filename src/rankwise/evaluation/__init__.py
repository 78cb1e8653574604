"""Measures with confidence intervals, paired tests, calibration, and standard errors of weights."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.evaluation.comparison import (
        Comparison as Comparison,
        compare as compare,
        compare_values as compare_values,
    )
    from rankwise.evaluation.grades import (
        GradeAgreement as GradeAgreement,
        grade_agreement as grade_agreement,
    )
    from rankwise.evaluation.margins import (
        MarginBound as MarginBound,
        margin_bound as margin_bound,
        rank_margin as rank_margin,
    )
    from rankwise.evaluation.measures import (
        Measure as Measure,
        Measured as Measured,
    )
    from rankwise.evaluation.paired import (
        Difference as Difference,
    )
    from rankwise.evaluation.reliability_diagram import (
        Reliability as Reliability,
        reliability as reliability,
    )
    from rankwise.evaluation.runs import (
        compare_runs as compare_runs,
        evaluate_run as evaluate_run,
    )
    from rankwise.evaluation.single import (
        Evaluation as Evaluation,
        evaluate as evaluate,
    )
    from rankwise.evaluation.inference import (
        Differences as Differences,
        Inference as Inference,
        Influential as Influential,
        RankRanges as RankRanges,
        WaldTest as WaldTest,
    )
    from rankwise.evaluation.influence import (
        Influence as Influence,
    )

__getattr__, __dir__, __all__ = lazy_imports(__name__)
