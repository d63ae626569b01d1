// What an arm is, beside its card: while a pointer is over it, while it has the focus, and when it is tapped. Escape hides it.

import { element } from "/static/api.js";

const EDGE = 8; // pixels to the edge of the window

export class Tip {
  #box = element("div", { class: "tip", id: "tip", role: "tooltip", hidden: true });
  #owner = null;
  #fill = null;

  constructor(section) {
    section.after(this.#box);
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#hide();
    });
    addEventListener("scroll", () => this.#owner && this.#place(), { passive: true });
  }

  /** Show what `fill` returns beside an element. */
  attach(owner, fill) {
    const show = () => this.#show(owner, fill);
    owner.addEventListener("pointerenter", show);
    owner.addEventListener("focus", show);
    owner.addEventListener("click", show);
    owner.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && document.activeElement !== owner) this.#hide(owner);
    });
    owner.addEventListener("blur", () => this.#hide(owner));
  }

  /** Say what is true now, beside an element that may have moved; one that is gone has nothing to say. */
  renew() {
    if (this.#owner === null) return;
    if (this.#owner.isConnected) this.#show(this.#owner, this.#fill);
    else this.#hide();
  }

  #show(owner, fill) {
    this.#owner?.removeAttribute("aria-describedby");
    this.#owner = owner;
    this.#fill = fill;
    owner.setAttribute("aria-describedby", this.#box.id);
    this.#box.replaceChildren(...fill());
    this.#box.hidden = false;
    this.#place();
  }

  #place() {
    const at = this.#owner.getBoundingClientRect();
    const { width, height } = this.#box.getBoundingClientRect();
    const left = Math.max(EDGE, Math.min(at.left, document.documentElement.clientWidth - width - EDGE));
    const isRoomBelow = at.bottom + height + EDGE < innerHeight;
    this.#box.style.left = `${left}px`;
    this.#box.style.top = `${isRoomBelow ? at.bottom + 4 : Math.max(EDGE, at.top - height - 4)}px`;
  }

  #hide(owner = this.#owner) {
    if (owner !== this.#owner) return;
    owner?.removeAttribute("aria-describedby");
    this.#owner = null;
    this.#box.hidden = true;
  }
}
