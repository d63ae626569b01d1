"""The policies, one file an algorithm."""

from boxthirding.policies.ash import AnytimeSequentialHalving
from boxthirding.policies.asha import Asha
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.bsh import BracketingSequentialHalving
from boxthirding.policies.bucb import BracketingUCB
from boxthirding.policies.chase import Chase
from boxthirding.policies.doubling import DoublingSequentialHalving
from boxthirding.policies.ebtc import EBTC
from boxthirding.policies.klucb import KLUCB
from boxthirding.policies.lilucb import LilUCB
from boxthirding.policies.prose import Prose
from boxthirding.policies.sequential_halving import SequentialHalving
from boxthirding.policies.spec import POLICIES, parse_policy
from boxthirding.policies.successive_rejects import SuccessiveRejects
from boxthirding.policies.ucbe import UCBE
from boxthirding.policies.uniform import Uniform

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
