"""The shape of the package: no import cycle, nothing written twice, and a size that is a decision."""

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from benchmarks import size

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
RUN = 10
"""Lines of code that may not stand in two places."""


def imported(text):
    """Yield the modules of the package that a module imports when it is loaded."""
    todo = list(ast.parse(text).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("boxthirding"):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else f"{full}.__init__" if f"{full}.__init__" in MODULES else node.module
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def graph(sources):
    """Return what each module imports; a package stands for its `__init__`."""
    found = {}
    for name, text in sources.items():
        wanted = {other if other in sources else f"{other}.__init__" for other in imported(text)}
        found[name] = wanted - {name}
    return found


def first_cycle(sources):
    try:
        TopologicalSorter(graph(sources)).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_no_module_imports_itself_by_way_of_others():
    assert first_cycle({name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}) is None


def test_a_cycle_would_be_found():
    one, two = list(MODULES)[:2]
    sources = {one: f"from {two} import a", two: f"def f():\n    pass\n\n\nif True:\n    from {one} import b"}
    assert first_cycle(sources) is not None
    assert first_cycle(sources | {two: f"def f():\n    from {one} import b"}) is None


def runs(text):
    """Yield every run of ten lines of code with its first line: no blank lines, comments, docstrings or imports."""
    skipped = set()
    for node in ast.walk(ast.parse(text)):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, node.end_lineno + 1))
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and number not in skipped and not line.lstrip().startswith("#")
    ]
    for start in range(len(lines) - RUN + 1):
        run = lines[start : start + RUN]
        if sum(len(line) > 5 for _, line in run) > RUN // 2:  # not only brackets
            yield run[0][0], tuple(line for _, line in run)


def twice(sources):
    places = defaultdict(list)
    for name, text in sources.items():
        for number, run in runs(text):
            places[run].append(f"{name}:{number}")
    return [found for found in places.values() if len(found) > 1]


def test_no_ten_lines_stand_twice():
    assert twice({name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}) == []


def test_ten_equal_lines_would_be_found():
    text = "\n".join(f"first_value_{k} = {k}" for k in range(RUN))
    assert twice({"one": text, "two": f"import os\n\n# a comment\n{text}"}) == [["one:1", "two:4"]]
    assert twice({"one": text, "two": text.replace("= 7", "= 8")}) == []


def test_code_is_counted_without_comments_docstrings_and_blank_lines():
    text = '"""A module."""\n\n# why\nx = [\n    1,\n]\n\n\ndef f():\n    """Return nothing."""\n    return None\n'
    assert size.code_lines(text) == 5


def test_growth_above_the_limits_fails(monkeypatch, tmp_path, capsys):
    (tmp_path / "size.toml").write_text("lines = 10\nfiles = 1_000\n", encoding="utf-8")
    monkeypatch.setattr(size, "HERE", tmp_path)
    assert "lines, but at most 10: delete, merge, or raise the limit in benchmarks/size.toml" in size.main()
    (tmp_path / "size.toml").write_text("lines = 1_000_000\nfiles = 1_000\n", encoding="utf-8")
    assert size.main() is None
    assert "src" in capsys.readouterr().out
