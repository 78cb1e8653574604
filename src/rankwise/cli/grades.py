"""The agreement of the grades that models predict, for `rankwise evaluate`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.cli.scores import ScoreSource, labels_for, model_scores
from rankwise.core.pipelines import last_step
from rankwise.evaluation.grades import grade_agreement
from rankwise.evaluation.models import predicts_grades

if TYPE_CHECKING:
    from rankwise.cli.data import Data
    from rankwise.evaluation.grades import GradeAgreement


def agreement_of(ranking: ScoreSource, data: Data, options: argparse.Namespace) -> GradeAgreement | None:
    """Return the agreement of the grades that a model predicts, None if it predicts none."""
    model = ranking.model
    if not predicts_grades(model):
        return None
    predicted = model_scores(model, data.rows_for(model), data.qid, labels=True)
    return agreement_with(model, data.y, predicted, data.qid, options)


def agreement_with(
    model: Any, y: Any, predicted: Any, qid: Any, options: argparse.Namespace
) -> GradeAgreement:
    """Return the agreement of predicted grades with labels."""
    labels, classes = labels_for(model, y, options), last_step(model).classes_
    words = classes.dtype.kind in "UO"
    return grade_agreement(
        labels,
        predicted,
        categories=options.categories if words else np.union1d(labels, classes).tolist(),
        cluster=qid,
    )
