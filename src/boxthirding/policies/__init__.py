"""The policies, one file an algorithm."""

from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.chase import Chase
from boxthirding.policies.rivals.ash import AnytimeSequentialHalving
from boxthirding.policies.rivals.asha import Asha
from boxthirding.policies.rivals.bsh import BracketingSequentialHalving
from boxthirding.policies.rivals.bucb import BracketingUCB
from boxthirding.policies.rivals.ebtc import EBTC
from boxthirding.policies.rivals.klucb_lilucb import KLUCB, LilUCB
from boxthirding.policies.rivals.prose import Prose
from boxthirding.policies.rivals.sequential_halving import DoublingSequentialHalving, SequentialHalving
from boxthirding.policies.rivals.successive_rejects import SuccessiveRejects
from boxthirding.policies.rivals.ucbe import UCBE
from boxthirding.policies.rivals.uniform import Uniform
from boxthirding.policies.spec import POLICIES, parse_policy

__all__ = [
    "EBTC",
    "KLUCB",
    "POLICIES",
    "UCBE",
    "AnytimeSequentialHalving",
    "Asha",
    "BoxThirding",
    "BracketingSequentialHalving",
    "BracketingUCB",
    "Chase",
    "DoublingSequentialHalving",
    "LilUCB",
    "Prose",
    "SequentialHalving",
    "SuccessiveRejects",
    "Uniform",
    "parse_policy",
]
