"""Optuna's own test suite for samplers, run against ours."""

import pytest
from optuna.samplers import TPESampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from boxthirding.integrations.optuna import BoxThirdingSampler

# Some of its objectives change the range of a parameter, of which the sampler warns.
pytestmark = pytest.mark.filterwarnings("ignore:The parameter .* is out of range:UserWarning")


class TestBoxThirdingSampler(BasicSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: BoxThirdingSampler(20)


class TestBoxThirdingSamplerOfWhatTpeProposes(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: BoxThirdingSampler(20, sampler=TPESampler(n_startup_trials=0, multivariate=True))
