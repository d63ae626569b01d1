"""`PolicyContract`: what a policy must keep, as tests."""

from functools import partial
from typing import ClassVar

from boxthirding.testing.rules import check_rule, check_ties
from boxthirding.testing.scenarios import for_scenarios
from boxthirding.testing.session_contract import check_session
from boxthirding.testing.simulator_contract import check_compiled, check_live, check_order
from boxthirding.types import Policy


class PolicyContract:
    """Subclass it, name the policy, and pytest finds the tests.

    A policy that must be told the budget is given the one of each run, up to 400 pulls; its own does not matter here,
    and it may refuse one that is too small for the arms.
    """

    policy: ClassVar[Policy]
    examples: ClassVar[int] = 50
    """How many scenarios Hypothesis tries for each test."""
    ends_jobs_in_ask: ClassVar[bool] = False
    """Whether an `ask` may carry out what needs no pull, so that the answer may change there."""

    def test_the_rule_keeps_its_contract(self) -> None:
        """Jobs in any number and order, told in parts; arms come and go; no matter how much room there is."""
        for_scenarios(self.policy, partial(check_rule, ends_jobs_in_ask=self.ends_jobs_in_ask), self.examples)

    def test_a_session_keeps_its_contract(self) -> None:
        """1 to 64 workers, late and double tells, failures, leases, arms that come and go, iterators that end."""
        for_scenarios(self.policy, check_session, self.examples)

    def test_live_equals_simulated(self) -> None:
        """One worker, pull by pull, with the same rewards."""
        for_scenarios(self.policy, check_live, self.examples)

    def test_compiled_equals_interpreted(self) -> None:
        """Bit for bit, under every reward model, with one worker and with several."""
        check_compiled(self.policy)

    def test_ties_do_not_go_by_number(self) -> None:
        """Equal arms have equal chances."""
        check_ties(self.policy)

    def test_the_order_of_the_arms_does_not_matter(self) -> None:
        """Best first, worst first or shuffled: the same regret."""
        check_order(self.policy)
