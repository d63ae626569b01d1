"""The figures of the reproduction, in the order of the page."""

from boxthirding.report.reproduction.evidence import Evidence
from boxthirding.report.reproduction.figures.drawings import arrange_picture, remedian_picture
from boxthirding.report.reproduction.figures.instances import instances_picture
from boxthirding.report.reproduction.figures.picture import Picture
from boxthirding.report.reproduction.figures.regret import box_picture, regret_picture
from boxthirding.report.reproduction.figures.screening import candidates_picture, levels_picture
from boxthirding.report.reproduction.figures.split import split_picture
from boxthirding.report.reproduction.figures.tables import table_picture
from boxthirding.report.reproduction.paper import EPSILONS, TABLES
from boxthirding.report.reproduction.plan import CAPTION_REWARDS, GAPS, SPLIT_REWARDS, caption_case

__all__ = ["Picture", "sections"]


def sections(evidence: Evidence) -> dict[str, list[Picture]]:
    """Return every figure under the heading it stands below."""
    captions = [caption_case(spec) for spec in CAPTION_REWARDS]
    return {
        "How Box Thirding works": [remedian_picture(), arrange_picture(), levels_picture(evidence)],
        "The instances": [instances_picture(evidence)],
        "Regret on the captions": [regret_picture(evidence, key) for key in captions],
        "Regret on instances made by formula": [regret_picture(evidence, key) for key in GAPS],
        "Spread of the runs": [box_picture(evidence, key) for key in captions],
        "The two tables": [table_picture(evidence, table) for table in TABLES],
        "Screening and its errors": [
            candidates_picture(evidence),
            *(split_picture(evidence, caption_case(spec), eps) for spec in SPLIT_REWARDS for eps in EPSILONS),
        ],
    }
