"""Names that are imported on first use, so that `import rankwise` takes little time."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_imports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, the `__dir__` and the `__all__` of a package.

    The imports under `if TYPE_CHECKING:` are the one declaration of its public names: type checkers read
    them, and each name is imported from there on first use.

    Examples
    --------
    >>> lazy_imports("rankwise.solvers")[2][:3]
    ['Descent', 'InterruptedWarning', 'Monitor']
    """
    homes: dict[str, Sequence[str]] = {}
    source = pkgutil.get_data(package, "__init__.py")
    blocks = (node for node in ast.parse(source or b"").body if isinstance(node, ast.If))
    for line in (line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)):
        names, home = [alias.name for alias in line.names], str(line.module)
        if home == package:
            homes |= {f"{package}.{name}": [name] for name in names}
        else:
            homes[home] = [*homes.get(home, []), *names]
    get, listed = lazy_names(package, homes)
    return get, listed, listed()


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        The package, as `__name__`.
    homes : dict
        The public names of each module. A name that equals the last part of its module's path is the module
        itself.

    Examples
    --------
    >>> get, names = lazy_names("rankwise", {"rankwise.preferences": ["Preferences"]})
    >>> get("Preferences").__name__, names()
    ('Preferences', ['Preferences'])
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(home_of[name])
        return home if home.__name__.endswith(f".{name}") else getattr(home, name)

    def names() -> list[str]:
        return sorted(home_of)

    return get, names
