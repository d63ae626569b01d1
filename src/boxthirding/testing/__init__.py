"""The contracts of a policy and of a journal as test suites, for those here and for anybody's own.

Subclass `PolicyContract` in a test module and name the policy; pytest (or unittest) runs the rest:

    from boxthirding.testing import PolicyContract

    class TestMyPolicy(PolicyContract):
        policy = MyPolicy()

A check that fails raises `ContractBroken` with the rule that was broken, and Hypothesis adds the shortest plan it found
that breaks it. Needs the extra `testing`.
`JournalContract` does the same for a place to keep studies in.
"""

from boxthirding.testing.contract import PolicyContract
from boxthirding.testing.journals import JournalContract
from boxthirding.testing.plans import ContractBroken

__all__ = ["ContractBroken", "JournalContract", "PolicyContract"]
