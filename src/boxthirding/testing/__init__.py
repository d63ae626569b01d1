"""The contract of a policy as a test suite, for the policies here and for anybody's own.

Subclass `PolicyContract` in a test module and name the policy; pytest (or unittest) runs the rest:

    from boxthirding.testing import PolicyContract

    class TestMyPolicy(PolicyContract):
        policy = MyPolicy()

A check that fails raises `ContractBroken` with the rule that was broken, and Hypothesis adds the shortest plan it found
that breaks it. Needs the extra `testing`.
"""

from boxthirding.testing.contract import PolicyContract
from boxthirding.testing.plans import ContractBroken

__all__ = ["ContractBroken", "PolicyContract"]
