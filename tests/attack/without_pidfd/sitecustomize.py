"""Remove what a Python has not that was built with old kernel headers, as conda's and uv's were.

Python imports this module at its start when its directory is in PYTHONPATH.
"""

import os
import signal

for module, name in ((os, "pidfd_open"), (os, "P_PIDFD"), (signal, "pidfd_send_signal")):
    if hasattr(module, name):
        delattr(module, name)
