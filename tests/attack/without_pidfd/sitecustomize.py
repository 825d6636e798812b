"""Remove the functions that a Python lacks if it was built with old kernel headers, as by conda and uv.

Python imports this module at its start if its directory is in PYTHONPATH.
"""

import os
import signal

for module, name in ((os, "pidfd_open"), (os, "P_PIDFD"), (signal, "pidfd_send_signal")):
    if hasattr(module, name):
        delattr(module, name)
