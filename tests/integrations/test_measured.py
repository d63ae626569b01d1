"""The benchmark of the integrations: what it is asked for, and what it counts."""

import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from benchmarks import integrations


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["foo"], "there is no part 'foo': name some of sklearn, optuna, dask, or none for all of them"),
        (["--seeds", "1"], "--seeds is 1, but must be at least 2"),
        (["--seeds", "0"], "--seeds is 0, but must be at least 2"),
    ],
)
def test_arguments_that_make_no_table_are_refused(arguments, words, capsys):
    with pytest.raises(SystemExit):
        integrations.main(arguments)
    assert words in capsys.readouterr().err


class Counted(DecisionTreeClassifier):
    fits = 0

    def fit(self, *given, **more):
        Counted.fits += 1
        return super().fit(*given, **more)


@pytest.mark.parametrize("search", ["_randomized", "_halving", "_ours"])
def test_fits_are_counted_as_they_were_made(search):
    x, y = load_digits(return_X_y=True)
    pool = [{"max_depth": [depth]} for depth in range(1, 31)]
    Counted.fits = 0
    made = getattr(integrations, search)(Counted(random_state=0), pool, 0).fit(x[:400], y[:400])
    assert integrations._fits(made) == Counted.fits <= integrations.FITS
