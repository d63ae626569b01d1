// Tables that become cards on a phone, are paged, and follow what happens while they are in view.

import { element } from "/static/api.js";
import { Kept, arrange, focusKept, renew } from "/static/keep-elements.js";
import { count } from "/static/numbers.js";

/**
 * A table. `columns` are {name, cell(row), number, order}; `keyOf(row)` names a row. Returned are its element and
 * show(rows). A row stays the same element, and the object that its cells are made of stays the same too, with new values:
 * that is what a button in a cell acts on. The heading of a column with an `order` is a button: sort(order) is called with it, or with a minus before it
 * for the largest first; sorted(order) marks the heading. leaveOut(names) hides columns.
 */
export function table(caption, columns, keyOf, sort) {
  const body = element("tbody");
  const heads = columns.map(heading);
  const made = element(
    "table",
    { class: "stacked" },
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, heads)),
    body,
  );
  let now = "";
  let left = []; // names of columns that are left out

  function heading({ name, number, order }) {
    let content = name || element("span", { class: "unseen" }, "Actions");
    if (order) content = element("button", { type: "button", class: "sort", onclick: () => sort(turned(order, number)) }, name);
    return element("th", { scope: "col", class: number ? "number" : null }, content);
  }

  /** The other direction of the order that is there; of another one, numbers begin with the largest. */
  function turned(order, number) {
    const [up, down] = [order, `-${order}`];
    if (now === up) return down;
    if (now === down) return up;
    return number ? down : up;
  }

  function sorted(order) {
    now = order;
    columns.forEach((column, place) => {
      const direction = { [column.order]: "ascending", [`-${column.order}`]: "descending" }[order];
      if (direction) heads[place].setAttribute("aria-sort", direction);
      else heads[place].removeAttribute("aria-sort");
    });
  }

  function leaveOut(names) {
    left = names;
    columns.forEach(({ name }, place) => {
      heads[place].hidden = left.includes(name);
    });
  }

  const kept = new Kept(); // by key: the row, and the object that it shows

  function show(rows) {
    focusKept(body, () => arrange(body, rows.map(line)));
    kept.sweep();
  }

  function line(row) {
    const key = keyOf(row);
    const { made: tr, shown } = kept.of(key, () => ({ made: element("tr", { "data-key": key }), shown: {} }));
    Object.assign(shown, row);
    return renew(tr, element("tr", {}, columns.map(({ name, cell, number }) => element("td", { "data-name": name, class: number ? "number" : null, hidden: left.includes(name) }, cell(shown)))));
  }
  return { element: made, show, sorted, leaveOut };
}

/**
 * Buttons that turn the pages of `what`: turn(first) is called with the place of the first row. Returned are the element
 * and show.
 */
export function pager(what, size, turn) {
  let first = 0;
  const before = element("button", { type: "button", onclick: () => go(first - size) }, "Previous");
  const after = element("button", { type: "button", onclick: () => go(first + size) }, "Next");
  const where = element("span", { class: "quiet" });
  const made = element("nav", { class: "pager", "aria-label": `Pages of ${what}`, hidden: true }, before, where, after);

  function go(place) {
    first = Math.max(0, place);
    turn(first);
  }

  return {
    element: made,
    get first() {
      return first;
    },
    reset() {
      first = 0;
    },
    show(rows) {
      made.hidden = first === 0 && rows < size;
      before.disabled = first === 0;
      after.disabled = rows < size;
      where.textContent = rows ? `${count(first + 1)} to ${count(first + rows)}` : "none";
    },
  };
}

const PAUSE = 1_500; // milliseconds between two refreshes of a table

/**
 * Call `refresh` now, and when the study has changed: while the section is in view, else when it comes into view. From
 * one call to the next are `pause` milliseconds at least. Returned is what the first call returns.
 */
export function follow(section, study, refresh, pause = PAUSE) {
  let isSeen = false;
  let isOld = false;
  let timer = null;

  function look() {
    if (!isSeen || !isOld || timer !== null) return;
    isOld = false;
    refresh();
    timer = setTimeout(() => {
      timer = null;
      look();
    }, pause);
  }

  const observer = new IntersectionObserver((entries) => {
    isSeen = entries.at(-1).isIntersecting;
    look();
  }, { rootMargin: "200px" });
  observer.observe(section);
  study.onChange(() => {
    isOld = true;
    look();
  });
  return refresh();
}
