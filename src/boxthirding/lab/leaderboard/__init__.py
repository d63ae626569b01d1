"""The leaderboard: every policy over a fixed suite of problems, relative to the best, with paired intervals."""
