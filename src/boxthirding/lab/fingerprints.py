"""The digest of the code that decides a replicate, so that results of one algorithm are not taken for another's."""

import hashlib
from dataclasses import fields
from functools import lru_cache

from boxthirding import _code_digest, _compile
from boxthirding.lab import driver, parallel_driver
from boxthirding.policies.rivals.ucbe import oracle_hardness
from boxthirding.rng import spawn
from boxthirding.types import Policy


def digest_of_code(policy: Policy, workers: int) -> str:
    """Return the SHA-256 of the code of a policy, of the loop that plays it and of how rewards are drawn.

    Of the policy's own values all count but those that it is told.
    """
    names = [field.name for field in fields(policy) if field.name not in policy.told]  # type: ignore[arg-type]  # policies are dataclasses
    own = _code_digest.constant({name: getattr(policy, name) for name in names})
    return hashlib.sha256(f"{_code_of(type(policy), workers > 1)} {own}".encode()).hexdigest()


@lru_cache(maxsize=64)
def _code_of(policy: type[Policy], crowded: bool) -> str:
    """Return the digest of all code that replicates of a policy run."""
    drive = parallel_driver.drive_crowd if crowded else driver.drive
    loop = _compile.bound(drive, **driver.bindings(policy.rule))
    told = [oracle_hardness] if "hardness" in policy.told else []
    return _code_digest.digest([loop, policy.new, policy.grow, spawn, *told], policy)
