"""A link between two namespaces that delays every packet: two devices, and this program between them.

python slow_link.py OUTER INNER SECONDS    # prints "ready" when both devices exist
"""

import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

SET_DEVICE, TAP_WITHOUT_HEADER = 0x400454CA, 0x0002 | 0x1000


def device(name):
    """Make a device of the kernel whose frames this process reads and writes."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, SET_DEVICE, struct.pack("16sH", name.encode(), TAP_WITHOUT_HEADER))
    return file


def forward(first, second, delay):
    """Write what one device sends to the other, later."""
    other, waiting = {first: second, second: first}, deque()
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for file in select.select([first, second], [], [], left)[0]:
            waiting.append((time.monotonic() + delay, other[file], os.read(file, 65536)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, file, frame = waiting.popleft()
            try:
                os.write(file, frame)
            except OSError:  # the device is not up yet
                continue


if __name__ == "__main__":
    devices = [device(name) for name in sys.argv[1:3]]
    print("ready", flush=True)
    forward(*devices, float(sys.argv[3]))
