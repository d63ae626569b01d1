"""A treap worked out again from scratch."""

from boxthirding.policies.structures.treap import precedes, priority
from boxthirding.types import NONE


def in_order(tree, which=0):
    """Return the nodes of a tree, largest key first; everything it knows about itself must be true."""
    return _below(tree, int(tree.root[which]), NONE)


def depth(tree, node):
    """Return how many nodes the longest way down has."""
    deepest, level = 0, [node]
    while level:
        level = [child for node in level if node != NONE for child in (int(tree.left[node]), int(tree.right[node]))]
        deepest += bool(level)
    return deepest


def _below(tree, node, parent):
    if node == NONE:
        return []
    assert tree.parent[node] == parent
    left, right = _below(tree, int(tree.left[node]), node), _below(tree, int(tree.right[node]), node)
    nodes = [*left, node, *right]
    assert all(precedes(tree, other, node) for other in left)
    assert all(precedes(tree, node, other) for other in right)
    assert all(priority(tree, other) < priority(tree, node) for other in left + right)
    assert tree.weight[node] == len(nodes)
    assert tree.champion[node] == max(nodes, key=lambda other: (tree.upper[other], tree.luck[other]))
    return nodes
