"""The kinds by name."""

from attack import (
    exports,
    fits,
    hull,
    kernels,
    kills,
    leave_out,
    losses,
    matches,
    metrics,
    model_files,
    objectives,
    statistics,
    tables,
)

MODULES = (
    losses,
    fits,
    metrics,
    leave_out,
    matches,
    hull,
    kernels,
    tables,
    model_files,
    exports,
    kills,
    objectives,
    statistics,
)
KINDS = {module.__name__.removeprefix("attack."): module.case for module in MODULES}
