"""Forks while a thread writes: each child opens the study anew and works on it.

The thread has the study open all the time, or opens and closes it each time. Prints how many children failed, and how
many results there are more than were acknowledged.
"""

import os
import signal
import sys
import threading
import time
from contextlib import nullcontext

from boxthirding import open_study


def main(place, forks, *, reopens):
    told, failed, is_over = 0, 0, threading.Event()
    study = open_study(place, "s", arms=500)
    if reopens:
        study.close()

    def write():
        nonlocal told
        while not is_over.is_set():
            with open_study(place, "s") if reopens else nullcontext(study) as one:
                for ticket in one.ask():
                    one.tell(ticket, 0.5)
                    told += 1

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(forks):
        time.sleep(0.011)
        child = os.fork()
        if child == 0:
            os._exit(work(place))
        failed += os.waitpid(child, 0)[1] != 0
    is_over.set()
    thread.join()
    study.close()
    with open_study(place, "s") as study:
        sys.stdout.write(f"{failed} {study.pulls - told - (forks - failed)}\n")


def work(place):
    signal.alarm(20)  # one that hangs is killed
    try:
        with open_study(place, "s") as study:
            for ticket in study.ask():
                study.tell(ticket, 0.5)
    except BaseException as error:  # noqa: BLE001  # a child must not go on in the parent's program
        sys.stderr.write(f"{error!r}\n")
        return 1
    return 0


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), reopens=sys.argv[3:] == ["reopens"])
