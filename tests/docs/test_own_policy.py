"""The policy of the page on your own policy: short, complete, made of public names, and it keeps the contract."""

import ast
import os
import subprocess
import sys

from pages import ROOT, blocks
from test_docs import documented

PAGE = ROOT / "docs" / "reference" / "own-policy.md"
FILES = {block.file: block.text for block in blocks(PAGE) if block.kind == "file"}


def test_it_has_40_lines_beside_imports_and_decorators():
    lines = [line for line in FILES["leader.py"].splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith(("import ", "from ", "@"))]) <= 40


def test_it_imports_documented_names_only():
    public = set(documented())
    for node in ast.walk(ast.parse(FILES["leader.py"])):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("boxthirding"):
            assert {f"{node.module}.{alias.name}" for alias in node.names} <= public


def test_it_keeps_the_contract_of_a_policy(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text.replace("Leader()\n", "Leader()\n    examples = 15\n"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_leader.py"]
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout
    assert "6 passed" in ended.stdout
