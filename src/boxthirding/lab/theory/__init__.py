"""The theory of the Box Thirding paper: candidate sets, probabilities and bounds, each with its statement.

Nothing here depends on rewards. Growth roots and costs per level, which policies use, are in `boxthirding.schedules`;
the chance of non-inclusion, which sessions use, is in `boxthirding.screening`. Where the paper has an error, a function
says so and does what its proof supports.
"""
