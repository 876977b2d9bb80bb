"""Places between two durable steps where a test lets the process die: CHRONICLE_FAILPOINT=name[:n], at the nth time.

Nothing else in the environment changes what the program does, and without it a failpoint is one dictionary lookup.
"""

from __future__ import annotations

import os
import signal

_reached = 0


def reach(name: str) -> None:
    global _reached
    asked = os.environ.get("CHRONICLE_FAILPOINT")
    if not asked:
        return
    wanted, _, count = asked.partition(":")
    if name == wanted:
        _reached += 1
        if _reached >= int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)
