"""The how-to on Slurm, without Slurm: the jobs of an array on one study, in PostgreSQL and behind a server."""

import os
import subprocess
import sys

import pytest
from pages import ROOT, blocks
from processes import Process

from boxthirding import RemoteStudy, open_study

PAGE = ROOT / "docs" / "integrations" / "clusters.md"


def array_of(jobs, folder, **environment):
    """Run what the page shows as the jobs of an array; return what they print."""
    script = next(block.text for block in blocks(PAGE) if block.file == "evaluate_all.py")
    (folder / "evaluate_all.py").write_text(script, encoding="utf-8")
    started = [
        subprocess.Popen(
            [sys.executable, "evaluate_all.py"],
            cwd=folder,
            env={**os.environ, **environment, "SLURM_ARRAY_TASK_ID": str(job)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for job in range(1, jobs + 1)
    ]
    return [job.communicate(timeout=300)[0] for job in started]


@pytest.mark.soak
def test_the_jobs_of_an_array_share_a_study_in_postgresql(database, tmp_path):
    assert array_of(3, tmp_path, STUDY=database) == [f"job {job}: the best is 70\n" for job in (1, 2, 3)]
    with open_study(database) as study:
        assert (study.view().spent, study.view().pulls, study.view().holders) == (500, 500, {})


@pytest.mark.soak
def test_the_jobs_of_an_array_share_a_study_of_a_server(tmp_path):
    with Process(tmp_path / "served.db") as server:
        url = f"{server.address}/#race"
        said = array_of(3, tmp_path, STUDY=url, BOXTHIRDING_KEY=server.key)
        assert said == [f"job {job}: the best is 70\n" for job in (1, 2, 3)]
        with RemoteStudy(url, server.key) as study:
            assert study.view().spent == 500
