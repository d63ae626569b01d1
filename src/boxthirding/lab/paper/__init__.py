"""The paper, reproduced: every figure and table, and each of its claims checked, with one command."""
