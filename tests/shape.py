"""Measures of the shape of the source, for `test_architecture.py`; `python tests/shape.py` prints them."""

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import rankwise

ROOT = Path(rankwise.__file__).parent
# A run of this many equal lines of code, names and literals aside, is a duplicate.
RUN = 6


@cache
def modules():
    """The syntax tree of each module, by its path below the package."""
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}


@cache
def code_lines(path):
    """The numbers of the lines that hold code: no comments, no docstrings, no blank lines."""
    text = (ROOT / path).read_text()
    lines, docstrings = set(), set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            docstrings.update(range(first.lineno, first.end_lineno + 1))
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*skipped, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstrings


@cache
def function_lengths():
    """Lines of code of each function, by path and name."""
    lengths = {}
    for path, tree in modules().items():
        lines = code_lines(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = len(lines.intersection(range(node.lineno, node.end_lineno + 1)))
                lengths[f"{path}:{node.name}"] = length
    return lengths


def loose_modules():
    """Modules that lie in no folder."""
    return sorted(path for path in modules() if "/" not in path and path != "__init__.py")


def packages():
    """The folders of the library."""
    return sorted({path.split("/")[0] for path in modules() if "/" in path})


def methods():
    """The number of methods of each class."""
    return {
        node.name: sum(isinstance(part, ast.FunctionDef) for part in node.body)
        for tree in modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_crossings():
    """Uses of a private name in a module that does not define it."""
    trees, home = modules(), defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_private(node.name):
                home[node.name].add(path)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_private(node.attr):
                home[node.attr].add(path)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                home[node.target.id].add(path)
    return [
        f"{path}:{node.lineno} {name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        for name in private_names(node)
        if path not in home[name]
    ]


def private_names(node):
    """The private names that a node takes from another object or module."""
    if isinstance(node, ast.Attribute) and is_private(node.attr):
        value = node.value
        is_own = isinstance(value, ast.Name) and value.id in ("self", "cls", "_native")
        is_super = isinstance(value, ast.Call) and getattr(value.func, "id", "") == "super"
        if not is_own and not is_super and node.attr not in ("_replace", "_asdict", "_fields"):
            yield node.attr
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankwise"):
        yield from (name.name for name in node.names if is_private(name.name) and name.name != "_native")


def duplicates():
    """The number of runs of lines that occur more than once, names and literals aside, per 1,000 lines."""
    runs, total = Counter(), 0
    for path in modules():
        lines, kept = (ROOT / path).read_text().splitlines(), sorted(code_lines(path))
        shapes = [shape_of(lines[number - 1]) for number in kept]
        total += len(shapes)
        runs.update(tuple(shapes[k : k + RUN]) for k in range(len(shapes) - RUN + 1))
    repeated = sum(count - 1 for run, count in runs.items() if count > 1 and sum(map(len, run)) > 60)
    return 1000 * repeated / total


def shape_of(line):
    """A line without white space, as it is but for names: two lines that differ in names differ."""
    return "".join(line.split())


def walk(call):
    """Follow a call: the functions and files of the package that it runs through, and its depth."""
    seen, depth, deepest = {}, 0, 0

    def follow(frame, event, _):
        nonlocal depth, deepest
        if frame.f_code.co_filename.startswith(str(ROOT)):
            if event == "call":
                depth += 1
                deepest = max(deepest, depth)
                seen[frame.f_code.co_filename, frame.f_code.co_qualname] = True
            elif event == "return":
                depth -= 1

    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen), len({path for path, _ in seen}), deepest


if __name__ == "__main__":
    lengths = function_lengths()
    print("loose modules:", *loose_modules())
    print("longest functions:", sorted(lengths.items(), key=lambda item: -item[1])[:8])
    print("methods:", Counter(methods()).most_common(8))
    print("private names across modules:", len(private_crossings()))
    print("\n".join(private_crossings()))
    print("repeated runs per 1,000 lines:", duplicates())
