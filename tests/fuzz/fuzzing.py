"""What the fuzzers share: how they start, and how they damage a valid file."""

import inspect
import sys


def run(check, *modules):
    """Call `check` with bytes until a limit of libFuzzer's is reached, guided by the coverage of modules."""
    import atheris

    for function in (function for module in modules for function in functions_of(module)):
        atheris.instrument_func(function)
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


def functions_of(module):
    """Yield the functions and methods that a module defines itself."""
    for _, entry in inspect.getmembers(module):
        if getattr(entry, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(entry):
            yield entry
        elif inspect.isclass(entry):
            yield from (value for value in vars(entry).values() if inspect.isfunction(value))


def overwritten(content, patches):
    """Overwrite bytes: each patch is two bytes of position and one of value."""
    result = bytearray(content)
    for start in range(0, len(patches) - 2, 3):
        position = int.from_bytes(patches[start : start + 2], "little")
        result[position % len(result)] = patches[start + 2]
    return bytes(result)
