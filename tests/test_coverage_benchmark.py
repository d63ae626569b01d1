"""`benchmarks.coverage` counts intervals that cover, and its table is in the documentation."""

from pathlib import Path

from benchmarks import coverage as benchmark

ROOT = Path(__file__).resolve().parents[1]


def test_it_counts_the_intervals_that_cover():
    row = next(row for row in benchmark.rows() if row.scores == "0/1, p = 0.98")
    covered, width, none = benchmark.measured(row, 20, 25, 1)
    assert none == 0
    assert covered > 0.93  # of 100 intervals: fewer cover with probability 1e-5
    assert 0.16 < width < 0.3  # the narrowest is 0.168
    without = benchmark.Row("never", row.means, lambda rng, mean: row.draw(rng, mean) + 10)
    assert benchmark.measured(without, 20, 2, 1)[0] == 0


def test_arms_without_an_interval_are_counted_apart():
    row = benchmark.mixture((0.01, 0.98, 0.01))
    covered, width, none = benchmark.measured(row, 20, 20, 1)
    assert 0 < none < 0.5
    assert covered > 0.9
    assert 0.1 < width < 0.2


def test_the_documentation_has_every_row_and_none_covers_less_than_promised():
    text = (ROOT / "docs/reference/find.md").read_text(encoding="utf-8")
    table = text.partition("| scores |")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [name for name, *_ in cells] == [row.scores for row in benchmark.rows()]
    for name, *measured in cells:
        for covered, width in zip(measured[::2], measured[1::2], strict=True):
            assert float(covered.removesuffix(" %")) >= 100 * benchmark.LEAST, name
            assert float(width) > 0, name
