"""The kinds by name."""

from attack import (
    exports,
    fits,
    influence,
    kernels,
    kills,
    leave_out,
    matches,
    model_files,
    statistics,
    tables,
)

MODULES = (fits, influence, leave_out, matches, kernels, tables, model_files, exports, kills, statistics)
KINDS = {module.__name__.removeprefix("attack."): module.case for module in MODULES}
