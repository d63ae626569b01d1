"""Arms in order of a key, with the best second value among the first k: everything in O(log n).

A treap (Seidel and Aragon 1996): a search tree by key, larger keys first, and a heap by random priority, which keeps it
flat. Nodes are arm numbers, or whatever else a rule counts; every node knows the size of its subtree and who in it has
the largest `upper`. Several trees share the arrays, each with its place in `root`.
"""

from typing import NamedTuple

from boxthirding._compile import kernel
from boxthirding.types import NONE, Floats, Ints


class Treap(NamedTuple):
    """R trees, K nodes of room."""

    root: Ints  # [R] the top node of each tree, or NONE
    left: Ints  # [K] the child towards larger keys
    right: Ints  # [K] the other child
    parent: Ints  # [K] the node above
    weight: Ints  # [K] nodes in the subtree
    champion: Ints  # [K] the node of the subtree with the largest upper
    lower: Floats  # [K] the key
    upper: Floats  # [K] the second value
    luck: Ints  # [K] drawn once for each node: who comes first among equals, and, scrambled, the priority


@kernel
def insert(tree: Treap, which: int, arm: int, lower: float, upper: float) -> None:
    """Insert an arm; its luck must be set."""
    tree.lower[arm] = lower
    tree.upper[arm] = upper
    tree.left[arm] = NONE
    tree.right[arm] = NONE
    tree.weight[arm] = 1
    tree.champion[arm] = arm
    parent = NONE
    node = tree.root[which]
    while node > NONE:
        tree.weight[node] += 1
        tree.champion[node] = better(tree, arm, tree.champion[node])
        parent = node
        left, right = tree.left[node], tree.right[node]  # both are read, so that no branch is needed when compiled
        node = left if precedes(tree, arm, node) else right
    tree.parent[arm] = parent
    if parent == NONE:
        tree.root[which] = arm
    elif precedes(tree, arm, parent):
        tree.left[parent] = arm
    else:
        tree.right[parent] = arm
    while tree.parent[arm] > NONE and priority(tree, tree.parent[arm]) < priority(tree, arm):
        rotate_up(tree, which, arm)


@kernel
def build(tree: Treap, which: int, chain: int) -> None:
    """Make a tree of arms whose values and luck are set; `chain` is the first, `right` leads on to the next one."""
    arm = sorted_chain(tree, chain)
    last = NONE
    while arm > NONE:
        after = tree.right[arm]
        below = NONE
        while last > NONE and priority(tree, last) < priority(tree, arm):
            refresh(tree, last)
            below = last
            last = tree.parent[last]
        if below > NONE:
            tree.parent[below] = arm
        if last > NONE:
            tree.right[last] = arm
        tree.left[arm] = below
        tree.right[arm] = NONE
        tree.parent[arm] = last
        last = arm
        arm = after
    tree.root[which] = NONE
    while last > NONE:
        refresh(tree, last)
        tree.root[which] = last
        last = tree.parent[last]


@kernel
def sorted_chain(tree: Treap, chain: int) -> int:
    """Sort a chain of arms by key and return the first: runs of 1, 2, 4, … are merged as soon as there are two."""
    runs = NONE  # the first arm of the latest run; its parent is that of the run before, its weight the length
    while chain > NONE:
        arm, chain = chain, tree.right[chain]
        tree.right[arm] = NONE
        length = 1
        while runs > NONE and tree.weight[runs] == length:
            before = tree.parent[runs]
            arm = merged(tree, runs, arm)
            runs = before
            length *= 2
        tree.weight[arm] = length
        tree.parent[arm] = runs
        runs = arm
    while runs > NONE:
        before = tree.parent[runs]
        chain = merged(tree, runs, chain)
        runs = before
    return chain


@kernel
def merged(tree: Treap, one: int, two: int) -> int:
    """Merge two chains in order and return the first arm."""
    first = last = NONE
    while one > NONE and two > NONE:
        leads = precedes(tree, one, two)
        arm = one if leads else two
        after = tree.right[arm]
        one = after if leads else one
        two = two if leads else after
        if last == NONE:
            first = arm
        else:
            tree.right[last] = arm
        last = arm
    rest = two if one == NONE else one
    if last == NONE:
        return rest
    tree.right[last] = rest
    return first


@kernel
def keeps_place(tree: Treap, arm: int, lower: float) -> bool:
    """Return whether an arm of a tree would be where it is with another key."""
    rises = lower > tree.lower[arm]
    other = beside(tree, arm, tree.left, tree.right) if rises else following(tree, arm)
    if other == NONE:
        return True
    if lower == tree.lower[other]:
        return (tree.luck[arm] > tree.luck[other]) != rises
    return (lower > tree.lower[other]) != rises


@kernel
def remove(tree: Treap, which: int, arm: int) -> None:
    """Remove an arm."""
    while tree.left[arm] > NONE or tree.right[arm] > NONE:
        left, right = tree.left[arm], tree.right[arm]
        leads = right == NONE or (left > NONE and priority(tree, left) > priority(tree, right))
        rotate_up(tree, which, left if leads else right)
    parent = tree.parent[arm]
    if parent == NONE:
        tree.root[which] = NONE
    elif tree.left[parent] == arm:
        tree.left[parent] = NONE
    else:
        tree.right[parent] = NONE
    while parent > NONE:
        if tree.champion[parent] == arm:
            refresh(tree, parent)
        else:
            tree.weight[parent] -= 1
        parent = tree.parent[parent]


@kernel
def first(tree: Treap, which: int) -> int:
    """Return the arm with the largest key, or NONE."""
    node = tree.root[which]
    while node > NONE and tree.left[node] > NONE:
        node = tree.left[node]
    return node


@kernel
def following(tree: Treap, arm: int) -> int:
    """Return the arm after this one, or NONE."""
    return beside(tree, arm, tree.right, tree.left)


@kernel
def beside(tree: Treap, arm: int, ahead: Ints, back: Ints) -> int:
    """Return the neighbour of an arm on the side of the children `ahead`, or NONE."""
    node = ahead[arm]
    if node > NONE:
        while back[node] > NONE:
            node = back[node]
        return node
    node = tree.parent[arm]
    while node > NONE and ahead[node] == arm:
        arm = node
        node = tree.parent[arm]
    return node


@kernel
def champion_among(tree: Treap, which: int, k: int) -> int:
    """Return the arm with the largest upper among the k with the largest keys, or NONE."""
    best = NONE
    node = tree.root[which]
    while node > NONE and k > 0:
        if k >= tree.weight[node]:
            return better(tree, best, tree.champion[node])
        left = tree.left[node]
        larger = 0 if left == NONE else tree.weight[left]
        if larger >= k:
            node = left
        else:
            if left > NONE:
                best = better(tree, best, tree.champion[left])
            best = better(tree, best, node)
            k -= larger + 1
            node = tree.right[node]
    return best


@kernel
def better(tree: Treap, arm: int, other: int) -> int:
    """Return whichever has the larger upper; either may be NONE."""
    if arm <= NONE:
        return other
    if other <= NONE:
        return arm
    one, two = tree.upper[arm], tree.upper[other]
    if one == two:  # rare, so it stands apart: what is left needs no branch when compiled
        return arm if tree.luck[arm] > tree.luck[other] else other
    return arm if one > two else other


@kernel
def precedes(tree: Treap, arm: int, other: int) -> bool:
    """Return whether an arm comes before another."""
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
    """Rotate an arm above its parent, keeping the order."""
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
    if child > NONE:
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
    if left > NONE:
        size += tree.weight[left]
    if right > NONE:
        size += tree.weight[right]
    tree.weight[arm] = size
    tree.champion[arm] = boldest(tree, arm)


@kernel
def boldest(tree: Treap, arm: int) -> int:
    """Return who has the largest upper in an arm's subtree, as its children know their own."""
    best = arm
    left, right = tree.left[arm], tree.right[arm]
    if left > NONE:
        best = better(tree, best, tree.champion[left])
    if right > NONE:
        best = better(tree, best, tree.champion[right])
    return best


@kernel
def refresh_path(tree: Treap, arm: int) -> None:
    """Let an arm and the nodes above it know that its upper has changed."""
    node = arm
    while node > NONE:
        was = tree.champion[node]
        tree.champion[node] = boldest(tree, node)
        if was != arm and tree.champion[node] != arm:  # nothing above has heard of it
            return
        node = tree.parent[node]
