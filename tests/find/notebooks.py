"""How the tests run a notebook, with a real kernel."""

import warnings

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

SETUP = """
import random
import time
import boxthirding as b3

draw = random.Random(7)
quality = {f"prompt <{k}>": draw.random() for k in range(300)}

def evaluate(prompt):
    time.sleep(0.003)
    return quality[prompt] + draw.gauss(0, 0.3)
"""


class Watched(NotebookClient):
    """Runs a notebook, and notes every state that a display had."""

    def process_message(self, msg, cell, cell_index):
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self.states.append(msg["content"]["data"].get("text/html", ""))
        return super().process_message(msg, cell, cell_index)


def executed(folder, *sources):
    """Return a notebook of these cells after it was run, and the states of its displays."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the packages of notebooks say to each other
        client = Watched(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
        client.states = []
        client.execute()
    nbformat.validate(notebook)
    return notebook, client.states
