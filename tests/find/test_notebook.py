"""A notebook, run by a real kernel: the bar, the result, the picture, and an interrupted cell."""

import os
import re
import signal
import threading
import time

import pytest
from notebooks import SETUP, executed

RUN = "found = b3.find_best(list(quality), evaluate, budget=300)"
AWAIT = """
import asyncio
import pathlib

async def slowly(prompt):
    await asyncio.sleep(0.001)
    return quality[prompt]

def begun(new):
    if new.progress.done == 20:
        pathlib.Path("begun").write_text(str(__import__("os").getpid()))

stopped = await b3.find_best_async(list(quality), slowly, budget=10_000_000, workers=4, callbacks=[begun])
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    cells = [SETUP, RUN, "found", "found.plot('arms')", "print(found)", "found.plot().get_xlabel()"]
    return executed(tmp_path_factory.mktemp("notebook"), *cells)


def test_a_bar_moves_below_the_cell_and_nothing_is_printed(shown):
    notebook, states = shown
    (output,) = notebook.cells[1].outputs
    assert output.output_type == "display_data"
    values = [
        int(value) for state in states for value in re.findall(r'role="progressbar" aria-valuenow="(\d+)"', state)
    ]
    assert values == sorted(values)
    assert len(set(values)) > 3
    assert (values[0], values[-1]) == (0, 100)
    assert any("best so far &#x27;prompt &lt;" in state and " s left" in state for state in states)


def test_in_the_end_the_bar_says_what_was_found(shown):
    html = shown[0].cells[1].outputs[0].data["text/html"]
    assert "100 %, 300 of 300 pulls, 0:00:0" in html
    assert "300 arms, 300 pulls, 1 worker." in html
    assert "Best: &#x27;prompt &lt;" in html
    assert "left;" not in html


def test_a_result_is_a_page_and_a_text(shown):
    (output,) = shown[0].cells[2].outputs
    html, text = output.data["text/html"], output.data["text/plain"]
    assert 'class="b3-found"' in html
    assert "The answer over time</div><svg" in html
    assert "prompt &lt;" in html
    assert "prompt <" not in html
    assert text.startswith("Best: 'prompt <")
    assert shown[0].cells[4].outputs[0].text == f"{text}\n"


def test_a_plot_is_a_picture(shown):
    kinds = {kind for output in shown[0].cells[3].outputs for kind in output.data}
    assert {"image/png", "text/plain"} <= kinds
    assert shown[0].cells[5].outputs[0].data["text/plain"] == "'pulls'"


def test_interrupting_an_awaited_run_returns_the_best_so_far(tmp_path):
    def interrupt():
        begun = tmp_path / "begun"
        while not begun.exists() or not begun.read_text(encoding="utf-8"):
            time.sleep(0.01)
        os.kill(int(begun.read_text(encoding="utf-8")), signal.SIGINT)  # what the stop button does

    pressing = threading.Thread(target=interrupt, daemon=True)
    pressing.start()
    notebook, _ = executed(tmp_path, SETUP, AWAIT, "print(stopped.stopped, stopped.best is not None)", "1 + 1")
    pressing.join()
    assert notebook.cells[2].outputs[0].text == "interrupted True\n"
    assert notebook.cells[3].outputs[0].data["text/plain"] == "2"


def test_interrupting_a_run_returns_the_best_so_far(tmp_path):
    cell = """
import os
import signal

def pressed(new):
    if new.progress.done == 20:
        os.kill(os.getpid(), signal.SIGINT)

stopped = b3.find_best(list(quality), evaluate, budget=10_000_000, callbacks=[pressed])
"""
    notebook, _ = executed(tmp_path, SETUP, cell, "print(stopped.stopped, stopped.best is not None)")
    assert notebook.cells[2].outputs[0].text == "interrupted True\n"
