"""Each policy of this package once, as a SPEC: what tests of a promise that every policy keeps run over."""

from boxthirding import POLICIES, parse_policy
from boxthirding.policies.spec import format_spec

EVERY = tuple(format_spec(parse_policy(name, budget=300, sigma=0.5)) for name in POLICIES)

AMENDABLE = tuple(spec for spec in EVERY if parse_policy(spec).rule.amend is not None)
"""Those whose arms can be given results without a job."""
