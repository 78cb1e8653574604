"""A cluster of Dask whose workers are in network namespaces, so that their links can be cut or slowed.

It needs root and the command `ip`; `make test-network` runs the cases in this folder.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

BRIDGE, HOST, PORT = "rankwise0", "10.77.0.1", 18786


def is_possible():
    """Return whether namespaces can be made here."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


def ip(*arguments, check=True):
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


def environment(**settings):
    """Return the environment of a process of Dask with some of its settings."""
    names = {f"DASK_DISTRIBUTED__{key}": value for key, value in settings.items()}
    here = os.path.dirname(os.path.abspath(__file__))  # workers load functions of the cases
    return os.environ | names | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "PYTHONPATH": here}


class Links:
    """A scheduler in this namespace, and workers in namespaces of their own.

    Parameters
    ----------
    n_workers : int
    worker_ttl : str
        The time after which the scheduler gives up a silent worker.
    memory_limit : str
        The memory of each worker.
    delay : float
        Seconds by which packets to and from the first worker are late.
    """

    def __init__(self, n_workers=2, worker_ttl="15s", memory_limit="0", delay=0.0):
        self.settings = environment(SCHEDULER__WORKER_TTL=worker_ttl)
        self.delay = delay
        self.memory_limit, self.n_workers = memory_limit, n_workers
        self.processes, self.workers = {}, []

    def __enter__(self):
        self.remove()
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{HOST}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        self.start_scheduler()
        for _ in range(self.n_workers):
            self.add_worker()
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.remove()

    @property
    def address(self):
        """The address of the scheduler."""
        return f"tcp://{HOST}:{PORT}"

    def start(self, name, *command):
        self.processes[name] = subprocess.Popen(
            command,
            env=self.settings,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def start_scheduler(self):
        options = ["--host", HOST, "--port", str(PORT), "--no-dashboard"]
        self.start("scheduler", sys.executable, "-m", "distributed.cli.dask_scheduler", *options)

    def restart_scheduler(self):
        """Kill the scheduler, and start another at the same address."""
        os.killpg(self.processes["scheduler"].pid, signal.SIGKILL)
        self.processes["scheduler"].wait()
        self.start_scheduler()

    def add_worker(self):
        """Start a worker in a namespace of its own."""
        number = len(self.workers)
        space, link, inner = f"rankwise-{number}", f"rankwise-v{number}", f"rankwise-w{number}"
        ip("netns", "add", space)
        if self.delay and not number:
            self.add_slow_link(link, inner)
        else:
            ip("link", "add", link, "type", "veth", "peer", "name", inner)
        ip("link", "set", inner, "netns", space)
        ip("link", "set", link, "master", BRIDGE, "up")
        ip("netns", "exec", space, "ip", "addr", "add", f"10.77.0.{10 + number}/24", "dev", inner)
        ip("netns", "exec", space, "ip", "link", "set", inner, "up")
        ip("netns", "exec", space, "ip", "link", "set", "lo", "up")
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1"]
        options = ["--memory-limit", self.memory_limit, "--no-dashboard", "--death-timeout", "60"]
        self.start(space, "ip", "netns", "exec", space, *command, *options)
        self.workers.append(link)

    def cut(self, number):
        """Cut the link of a worker."""
        ip("link", "set", self.workers[number], "down")

    def mend(self, number):
        """Mend the link of a worker."""
        ip("link", "set", self.workers[number], "up")

    def add_slow_link(self, link, inner):
        """Join two devices by a process that delays packets."""
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_link.py")
        command = [sys.executable, program, link, inner, str(self.delay)]
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
        self.processes[link] = process
        assert process.stdout.readline() == b"ready\n"
        process.stdout.close()

    def remove(self):
        """Remove the namespaces and links of this or an earlier run."""
        for number in range(8):
            ip("netns", "del", f"rankwise-{number}", check=False)
            ip("link", "del", f"rankwise-v{number}", check=False)
        ip("link", "del", BRIDGE, check=False)
        time.sleep(0.2)
