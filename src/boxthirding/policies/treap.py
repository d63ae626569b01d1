"""Arms in order of a key, with the best second value among the first k: everything in O(log n).

A treap (Seidel and Aragon 1996): a search tree by key, larger keys first, and a heap by random priority, which keeps it
flat. Nodes are arm numbers, or whatever else a rule counts; every node knows the size of its subtree and who in it has
the largest `upper`. Several trees share the arrays, each with its place in `root`.
"""

from typing import Protocol

from boxthirding._compile import kernel
from boxthirding.types import NONE, Floats, Ints


class Treap(Protocol):
    """A rule's own state, if it has these fields."""

    @property
    def root(self) -> Ints:
        """[R] The top node of each tree, or NONE."""

    @property
    def left(self) -> Ints:
        """[K] The child towards larger keys."""

    @property
    def right(self) -> Ints:
        """[K] The other child."""

    @property
    def parent(self) -> Ints:
        """[K] The node above."""

    @property
    def weight(self) -> Ints:
        """[K] Nodes in the subtree."""

    @property
    def champion(self) -> Ints:
        """[K] The node of the subtree with the largest upper."""

    @property
    def lower(self) -> Floats:
        """[K] The key."""

    @property
    def upper(self) -> Floats:
        """[K] The second value."""

    @property
    def luck(self) -> Ints:
        """[K] Drawn once for each node: who comes first among equals, and, scrambled, the priority."""


@kernel
def insert(tree: Treap, which: int, arm: int, lower: float, upper: float) -> None:
    """Put an arm in its place; its luck must be set."""
    tree.lower[arm] = lower
    tree.upper[arm] = upper
    tree.left[arm] = NONE
    tree.right[arm] = NONE
    tree.weight[arm] = 1
    tree.champion[arm] = arm
    parent = NONE
    node = tree.root[which]
    while node != NONE:
        parent = node
        node = tree.left[node] if precedes(tree, arm, node) else tree.right[node]
    tree.parent[arm] = parent
    if parent == NONE:
        tree.root[which] = arm
        return
    if precedes(tree, arm, parent):
        tree.left[parent] = arm
    else:
        tree.right[parent] = arm
    while tree.parent[arm] != NONE and priority(tree, tree.parent[arm]) < priority(tree, arm):
        rotate_up(tree, which, arm)
    refresh_path(tree, tree.parent[arm])


@kernel
def remove(tree: Treap, which: int, arm: int) -> None:
    """Take an arm out."""
    while tree.left[arm] != NONE or tree.right[arm] != NONE:
        left, right = tree.left[arm], tree.right[arm]
        if right == NONE or (left != NONE and priority(tree, left) > priority(tree, right)):
            rotate_up(tree, which, left)
        else:
            rotate_up(tree, which, right)
    parent = tree.parent[arm]
    if parent == NONE:
        tree.root[which] = NONE
    elif tree.left[parent] == arm:
        tree.left[parent] = NONE
    else:
        tree.right[parent] = NONE
    refresh_path(tree, parent)


@kernel
def first(tree: Treap, which: int) -> int:
    """Return the arm with the largest key, or NONE."""
    node = tree.root[which]
    while node != NONE and tree.left[node] != NONE:
        node = tree.left[node]
    return node


@kernel
def following(tree: Treap, arm: int) -> int:
    """Return the arm that comes after another one, or NONE."""
    if tree.right[arm] != NONE:
        node = tree.right[arm]
        while tree.left[node] != NONE:
            node = tree.left[node]
        return node
    above = tree.parent[arm]
    while above != NONE and tree.right[above] == arm:
        arm = above
        above = tree.parent[arm]
    return above


@kernel
def champion_among(tree: Treap, which: int, k: int) -> int:
    """Return the arm with the largest upper among the k with the largest keys, or NONE."""
    best = NONE
    node = tree.root[which]
    while node != NONE and k > 0:
        left = tree.left[node]
        larger = 0 if left == NONE else tree.weight[left]
        if larger >= k:
            node = left
        else:
            if left != NONE:
                best = better(tree, best, tree.champion[left])
            best = better(tree, best, node)
            k -= larger + 1
            node = tree.right[node]
    return best


@kernel
def better(tree: Treap, arm: int, other: int) -> int:
    """Return whichever has the larger upper; either may be NONE."""
    if arm == NONE:
        return other
    if other == NONE or tree.upper[arm] > tree.upper[other]:
        return arm
    if tree.upper[arm] == tree.upper[other] and tree.luck[arm] > tree.luck[other]:
        return arm
    return other


@kernel
def precedes(tree: Treap, arm: int, other: int) -> bool:
    """Tell whether an arm comes before another."""
    if tree.lower[arm] == tree.lower[other]:
        return tree.luck[arm] > tree.luck[other]
    return tree.lower[arm] > tree.lower[other]


@kernel
def priority(tree: Treap, arm: int) -> int:
    """Return an arm's rank in the heap: its luck scrambled, for among equals luck itself is the order by key.

    The two the same would make a list of them. (Luck is below 2^32, so the product fits.)
    """
    return (int(tree.luck[arm]) * 1640531527) & 0xFFFFFFFF


@kernel
def rotate_up(tree: Treap, which: int, arm: int) -> None:
    """Let an arm and its parent change ranks, keeping the order."""
    parent = tree.parent[arm]
    above = tree.parent[parent]
    if tree.left[parent] == arm:
        child = tree.right[arm]
        tree.left[parent] = child
        tree.right[arm] = parent
    else:
        child = tree.left[arm]
        tree.right[parent] = child
        tree.left[arm] = parent
    if child != NONE:
        tree.parent[child] = parent
    tree.parent[parent] = arm
    tree.parent[arm] = above
    if above == NONE:
        tree.root[which] = arm
    elif tree.left[above] == parent:
        tree.left[above] = arm
    else:
        tree.right[above] = arm
    refresh(tree, parent)
    refresh(tree, arm)


@kernel
def refresh(tree: Treap, arm: int) -> None:
    """Work out an arm's subtree from its children's."""
    left, right = tree.left[arm], tree.right[arm]
    size = 1
    best = arm
    if left != NONE:
        size += tree.weight[left]
        best = better(tree, best, tree.champion[left])
    if right != NONE:
        size += tree.weight[right]
        best = better(tree, best, tree.champion[right])
    tree.weight[arm] = size
    tree.champion[arm] = best


@kernel
def refresh_path(tree: Treap, arm: int) -> None:
    """Work out the subtrees from an arm up to the root."""
    while arm != NONE:
        refresh(tree, arm)
        arm = tree.parent[arm]
