"""What `boxthirding run` leaves behind when a signal ended it, for those who call it in their own process."""

import shlex
import signal
import sys

import pytest
from invoking import invoke


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_received_as_before_once_an_interrupted_run_has_ended(folder, sent):
    (folder / "arms.txt").write_text("ann\nbob\n", encoding="utf-8")
    program = f"import os, time; os.kill(os.getppid(), {int(sent)}); time.sleep(60)"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)} {{arm}}"
    before = signal.getsignal(sent)
    # With workers the program is started in a thread of its own, where no signal arrives before it is under way.
    done = invoke("run", "--arms", "arms.txt", "--command", command, "--budget", 1, "--workers", 2)
    assert (done.exit_code, signal.getsignal(sent)) == (128 + sent, before)
