// Elements that stay as the page changes around them: one that is pressed is still there when it is let go, the focus stays
// on it, and the page does not jump.

/** Elements by name, or what goes with one: each is made once and used again for as long as it is shown. */
export class Kept extends Map {
  #used = new Set();

  /** What a name stands for; make() makes it. */
  of(name, make) {
    this.#used.add(name);
    if (!this.has(name)) this.set(name, make());
    return this.get(name);
  }

  /** Forget those that were not asked for since the last time. */
  sweep() {
    for (const name of [...this.keys()]) {
      if (!this.#used.has(name)) this.delete(name);
    }
    this.#used.clear();
  }
}

/** Let these be the children of an element, null and false left out; one that is in its place is not touched. */
export function arrange(parent, ...children) {
  const wanted = children.flat(Infinity).filter(Boolean);
  for (const child of [...parent.childNodes]) {
    if (!wanted.includes(child)) child.remove();
  }
  wanted.forEach((child, place) => {
    if (parent.childNodes[place] !== child) parent.insertBefore(child, parent.childNodes[place] ?? null);
  });
  return parent;
}

/**
 * Let an element have the children that another one has, and keep those that are the same. A child with the same tag and
 * attributes stays, with what it listens to, and gets the other's children in turn.
 */
export function renew(shown, fresh) {
  const before = [...shown.childNodes];
  const after = [...fresh.childNodes].map((child, place) => {
    const old = before[place];
    if (!old || !old.cloneNode(false).isEqualNode(child.cloneNode(false))) return child;
    return old.nodeType === Node.ELEMENT_NODE ? renew(old, child) : old;
  });
  return arrange(shown, after);
}

/** Call `change`, and give the focus back to what had it within an element, if it was moved. */
export function focusKept(parent, change) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  change();
  if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
}
