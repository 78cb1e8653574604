"""What holds for the native sources, checked with the C++ compiler if there is one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parent.parent / "native"


def preprocessed(path):
    """Return the lines of a source file after preprocessing."""
    compiler = next(filter(shutil.which, (os.environ.get("CXX", "c++"), "g++", "clang++")), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    done = subprocess.run([compiler, "-std=c++20", "-E", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(not NATIVE.is_dir(), reason="the native sources are not here")
def test_only_code_with_a_namespace_of_its_own_is_compiled_for_avx2():
    # The linker keeps one copy of an inline function: with AVX2 it would end programs on older processors.
    source, files, compiled_for_avx2 = "", set(), False
    for line in preprocessed(NATIVE / "logistic_avx2.cpp"):
        if marker := re.match(r'# \d+ "(.*)"', line):
            source = Path(marker[1]).name
        elif line.startswith("#pragma"):
            compiled_for_avx2 = '"avx2"' in line or (compiled_for_avx2 and not re.search(r"\bpop", line))
        elif compiled_for_avx2 and line.strip():
            files.add(source)
    if not files:
        pytest.skip("there is no code for AVX2 on this machine")
    namespace = "namespace rankwise::RANKWISE_INSTRUCTIONS {"
    assert files == {path.name for path in NATIVE.glob("*.hpp") if namespace in path.read_text()}


@pytest.mark.parametrize("path", sorted(NATIVE.glob("*.hpp")), ids=lambda path: path.name)
def test_every_header_has_an_include_guard(path):
    code = [line for line in path.read_text().splitlines() if not line.startswith("//")]
    assert code[0] == "#pragma once"
