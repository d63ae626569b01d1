"""The public functions of the theory, by name."""

import inspect

from boxthirding import screening
from boxthirding.lab.theory import bounds, candidate_sets, complexity, sizes

FUNCTIONS = {
    name: function
    for module in (screening, bounds, candidate_sets, complexity, sizes)
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
}
