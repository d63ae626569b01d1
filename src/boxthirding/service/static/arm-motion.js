// Arms that move from box to box: each is drawn where it is now, and travels there from where it was.

const TRAVEL = { duration: 700, easing: "cubic-bezier(0.3, 0, 0.1, 1)" };
const MOST = 60; // arms that travel at a time

export class Motion {
  #board;
  #calm = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(board) {
    this.#board = board;
  }

  get isCalm() {
    return this.#calm.matches || document.hidden;
  }

  /** Where cards are, by their names. */
  measure(cards) {
    if (this.isCalm) return new Map();
    return new Map([...cards].map(([name, card]) => [name, { rect: card.getBoundingClientRect(), card }]));
  }

  /** Let cards travel from where they were; those that were dropped fly to their pile, and new ones come from below. */
  play(cards, before, moved) {
    if (this.isCalm) return;
    const kinds = new Map(moved.map((move) => [move.key, move]));
    let left = MOST;
    for (const [name, card] of cards) {
      if (left === 0) break;
      const was = before.get(name)?.rect;
      const now = card.getBoundingClientRect();
      const from = was ?? this.#below(kinds.get(name)); // without a width if the card was hidden
      if (!from?.width || (Math.abs(from.left - now.left) < 1 && Math.abs(from.top - now.top) < 1)) continue;
      left -= 1;
      this.#travel(card, from, now, was === undefined);
      const kind = kinds.get(name)?.kind;
      if (kind) this.#flag(card, kind);
    }
    for (const { key, kind, level } of moved) {
      const was = before.get(key);
      if (kind === "dropped" && was) this.#fly(was, this.#board.querySelector(`[data-pile="${level}"]`));
    }
  }

  #travel(card, from, to, isNew) {
    const moving = `translate(${from.left - to.left}px, ${from.top - to.top}px)`;
    card.style.zIndex = "2";
    const run = card.animate([{ transform: moving, opacity: isNew ? 0 : 1 }, { transform: "none", opacity: 1 }], TRAVEL);
    run.onfinish = run.oncancel = () => {
      card.style.zIndex = "";
    };
  }

  #flag(card, kind) {
    card.dataset.moved = kind;
    setTimeout(() => delete card.dataset.moved, 2 * TRAVEL.duration);
  }

  /** Where an arm comes from that was not shown before: the level below, or outside. */
  #below(move) {
    if (!move) return null;
    const row = this.#board.querySelector(`[data-box="${move.level - 1}-0"]`) ?? this.#board.querySelector("[data-pool]");
    return row?.getBoundingClientRect() ?? null;
  }

  /** Let a copy of a card that is gone fly to its pile. */
  #fly({ rect, card }, pile) {
    if (!pile) return;
    const to = pile.getBoundingClientRect();
    const copy = card.cloneNode(true);
    copy.className = "arm flying";
    copy.removeAttribute("data-place");
    copy.setAttribute("aria-hidden", "true");
    copy.inert = true;
    Object.assign(copy.style, { left: `${rect.left + scrollX}px`, top: `${rect.top + scrollY}px`, width: `${rect.width}px`, height: `${rect.height}px` });
    document.body.append(copy);
    const moving = `translate(${to.left - rect.left}px, ${to.top - rect.top}px) scale(0.5)`;
    const run = copy.animate([{ transform: "none", opacity: 1 }, { transform: moving, opacity: 0.2 }], TRAVEL);
    run.onfinish = run.oncancel = () => copy.remove();
    pile.animate([{ transform: "scale(1)" }, { transform: "scale(1.08)" }, { transform: "scale(1)" }], { duration: 400, delay: TRAVEL.duration });
  }
}
