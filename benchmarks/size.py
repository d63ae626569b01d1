"""Count the code of the package, and fail above the numbers in `size.toml`, so that growth is a decision.

Lines of code are lines that hold a token other than a comment or a docstring.
"""

import ast
import io
import sys
import tokenize
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "boxthirding"
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """Return how many lines of a module are code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def main() -> str | None:
    """Print the size of each package and of all; return what is above its limit, or None."""
    sizes: dict[str, list[int]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        row = sizes.setdefault(parts[0] if len(parts) > 1 else "(top level)", [0, 0])
        row[0] += code_lines(path.read_text(encoding="utf-8"))
        row[1] += 1
    total = {"lines": sum(lines for lines, _ in sizes.values()), "files": sum(files for _, files in sizes.values())}
    for name, (lines, files) in sorted(sizes.items(), key=lambda item: -item[1][0]):
        print(f"{name:14}{lines:8,}{files:6}")
    print(f"{'src':14}{total['lines']:8,}{total['files']:6}")
    limits = tomllib.loads((HERE / "size.toml").read_text(encoding="utf-8"))
    above = [f"{total[name]:,} {name}, but at most {limits[name]:,}" for name in total if total[name] > limits[name]]
    return (
        f"src has {' and '.join(above)}: delete, merge, or raise the limit in benchmarks/size.toml" if above else None
    )


if __name__ == "__main__":
    sys.exit(main())
