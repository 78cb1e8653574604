"""Run the suite as on other machines: other BLAS kernels, no CPU features for numpy, and two runs at once.

    python tests/machines.py [arguments of pytest]

Prints one line a run, what pytest said where a run fails, and exits with 1 if any did.
"""

import json
import os
import subprocess
import sys

# What a core type of OpenBLAS needs (one of numpy's names for it), and the names OpenBLAS itself may tell.
CORES = {
    "SkylakeX": ({"X86_V4", "AVX512_SKX"}, {"SkylakeX"}),
    "Haswell": ({"X86_V3", "AVX2"}, {"Haswell"}),
    "Nehalem": ({"X86_V2", "SSE42"}, {"Nehalem"}),
    "Prescott": ({"X86_V2", "SSE42"}, {"Prescott", "Katmai"}),
}
REPORT = """
import json, numpy, scipy.linalg, threadpoolctl
simd = numpy.show_config(mode="dicts")["SIMD Extensions"]
pools = threadpoolctl.threadpool_info()
cores = [pool["architecture"] for pool in pools if pool["internal_api"] == "openblas"]
print(json.dumps({"baseline": simd["baseline"], "found": simd.get("found", []), "cores": cores}))
"""


def machine(settings):
    """Return what numpy and BLAS say of the machine in an environment with these settings."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT], env=os.environ | settings, check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


def suite(arguments, settings):
    """Start pytest with these settings."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE, text=True)


def passed(name, arguments, settings, copies=1):
    """Run copies of the suite at once, print a line for each, and tell whether all passed."""
    started = [suite(arguments, settings) for _ in range(copies)]
    outputs = [process.communicate()[0] for process in started]
    for process, output in zip(started, outputs, strict=True):
        if process.returncode:
            print(output)
        print(f"{name}: {output.strip().splitlines()[-1].strip('= ')}", flush=True)
    return not any(process.returncode for process in started)


def core_passed(core, here, arguments):
    """Run the suite on a core type of OpenBLAS, where the CPU has what that needs."""
    needs, names = CORES[core]
    if not here["cores"] or not needs & {*here["baseline"], *here["found"]}:
        print(f"{core}: skipped, this machine has none of {', '.join(sorted(needs))}, or no OpenBLAS.")
        return True
    settings = {"OPENBLAS_CORETYPE": core}
    told = machine(settings)["cores"]
    if not names.issuperset(told):
        print(f"{core}: OpenBLAS took {', '.join(told)} instead.")
        return False
    return passed(core, arguments, settings)


def plain_passed(here, arguments):
    """Run the suite without the CPU features that numpy would choose when it starts."""
    settings = {"NPY_DISABLE_CPU_FEATURES": " ".join(here["found"])}
    if left := machine(settings)["found"]:
        print(f"numpy without CPU features: it kept {', '.join(left)}.")
        return False
    return passed("numpy without CPU features", arguments, settings)


def main(arguments):
    """Make all runs, one after the other, and return the exit code."""
    here = machine({})
    results = [core_passed(core, here, arguments) for core in CORES]
    results.append(plain_passed(here, arguments))
    results.append(passed("two at once", arguments, {}, copies=2))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
