"""Forks while a thread writes: each child opens the study anew and works on it. Prints how many children failed."""

import os
import signal
import sys
import threading
import time

from boxthirding import open_study


def main(place, forks):
    told, failed, is_over = 0, 0, threading.Event()
    with open_study(place, "s", arms=500) as study:

        def write():
            nonlocal told
            while not is_over.is_set():
                for ticket in study.ask():
                    study.tell(ticket, 0.5)
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
    main(sys.argv[1], int(sys.argv[2]))
