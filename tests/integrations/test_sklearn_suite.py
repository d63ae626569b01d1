"""scikit-learn's own checks of estimators, run against our search as it runs them against RandomizedSearchCV."""

from unittest import SkipTest

import pytest
from sklearn.base import is_regressor
from sklearn.model_selection import RandomizedSearchCV
from sklearn.utils._test_common.instance_generator import INIT_PARAMS, PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

from boxthirding.integrations.sklearn import BoxThirdingSearchCV

SETTINGS = INIT_PARAMS[RandomizedSearchCV]  # a regressor, a classifier, and a pipeline of each


def expected_failures(search):
    """Return what fails for RandomizedSearchCV too: it is listed for all of its searches, though classifiers pass."""
    return dict(PER_ESTIMATOR_XFAIL_CHECKS[RandomizedSearchCV]) if is_regressor(search) else {}


@pytest.mark.filterwarnings("default")  # as scikit-learn runs them: some provoke warnings
@parametrize_with_checks(
    [BoxThirdingSearchCV(**settings) for settings in SETTINGS],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_the_checks_of_scikit_learn(estimator, check):
    try:
        check(estimator)
    except SkipTest:
        settings = next(one for one in SETTINGS if one["estimator"] is estimator.estimator)
        with pytest.raises(SkipTest):  # no more is skipped than for RandomizedSearchCV
            check(RandomizedSearchCV(**settings))
        raise
