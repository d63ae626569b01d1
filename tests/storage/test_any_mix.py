"""Any mix of verbs by any number of holders, on both databases: a session, and what its journal adds up to."""

from itertools import count

import pytest

from boxthirding import parse_policy
from boxthirding.storage.opening import open_journal
from boxthirding.study import Settings, Study
from boxthirding.testing.scenarios import for_scenarios
from boxthirding.testing.session_contract import check_session


@pytest.mark.parametrize("spec", ["chase", "b3", "b3:reuse=pool", "b3:reuse=topup", "us", "prose:sigma=0.5", "asha"])
@pytest.mark.parametrize("examples", [2, pytest.param(10, marks=pytest.mark.soak)])
def test_a_study_keeps_the_contract_and_is_what_its_journal_adds_up_to(url, spec, examples):
    numbers = count()

    def check(policy, scenario):
        made = []

        def make(arms, policy, *, holder=None, clock=None, **settings):
            name = f"scenario {next(numbers)}"
            journal = open_journal(url, name)
            study = Study(name, journal, Settings(arms, policy, **settings), holder=holder, clock=clock)
            made.append(study)
            return study, study.state

        check_session(policy, scenario, make)
        for study in made:
            with Study(study.name, open_journal(url, study.name)) as again:
                again.recommend()  # a rule may note the answer to this question
                assert again.state() == study.state()
            study.close()

    for_scenarios(parse_policy(spec), check, examples)
