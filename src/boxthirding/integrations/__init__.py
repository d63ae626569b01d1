"""boxthirding inside other tools, one file for each: its package is imported there, and nowhere else.

`race` needs no package. The others are imported by their files: `boxthirding.integrations.optuna`,
`boxthirding.integrations.sklearn` and `boxthirding.integrations.inspect_ai`.
"""

from boxthirding.integrations.race import Candidates, from_table, race

__all__ = ["Candidates", "from_table", "race"]
