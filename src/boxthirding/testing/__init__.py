"""Test suites for the contracts of a policy, a journal and `AskTell`, for built-in and own implementations.

Subclass `PolicyContract` in a test module and name the policy; pytest (or unittest) runs the rest:

    from boxthirding.testing import PolicyContract

    class TestMyPolicy(PolicyContract):
        policy = MyPolicy()

A check that fails raises `ContractBroken` with the rule that was broken, and Hypothesis adds the shortest scenario that
it found to break it. Needs the extra `testing`.
`JournalContract` does the same for a place to keep studies in, and `AskTellContract` for what is asked and told as a
session is.
"""

from boxthirding.testing.ask_tell import AskTellContract
from boxthirding.testing.contract import PolicyContract
from boxthirding.testing.journals import JournalContract
from boxthirding.testing.scenarios import ContractBroken

__all__ = ["AskTellContract", "ContractBroken", "JournalContract", "PolicyContract"]
