// What a rater has in hand: arms to rate, the last rating while it can be undone, ratings that were not sent yet.
// Every change is written to the browser's storage first, so that a reload, a crash or a lost connection loses nothing.

/** Milliseconds for which a rating is held. */
export const HOLD = 5000;

/** Arms that a page wants to have: the one that is shown, and the next. */
const WANTED = 2;

export class Sheet {
  /**
   * @param {string} name the rater's name, under which the sheet is kept
   */
  constructor(name) {
    this.name = name;
    this.isGuest = false; // whether it came under an id of another browser: the server lists it new arms alone
    this._key = `boxthirding-${name}`;
    this.load();
  }

  /** Read the sheet as it was left, here or in another tab. */
  load() {
    const kept = read(this._key) ?? {};
    this.arms = kept.arms ?? []; // not decided yet; the first is shown
    this.held = kept.held ?? null; // {arm, answer, seconds, until}; the answer is null where the arm was skipped
    this.outbox = kept.outbox ?? []; // {ticket, answer, seconds}, the oldest first
    this.agreed = kept.agreed ?? null; // the texts that the rater agreed to
  }

  /** The arm that is shown. */
  get shown() {
    return this.arms[0] ?? null;
  }

  /** The ratings that the server has not acknowledged; skipped arms are none. */
  get unsent() {
    const ratings = this.outbox.filter((one) => one.answer !== null).length;
    return ratings + (this.held !== null && this.held.answer !== null ? 1 : 0);
  }

  agree(texts) {
    this.agreed = texts;
    this._save();
  }

  /** Answer the arm that is shown, or skip it with null; the one before can be undone no more. */
  decide(answer, seconds, now) {
    this._release();
    this.held = { arm: this.arms.shift(), answer, seconds, until: now + HOLD };
    this._save();
  }

  /** Show the arm again that was decided last. */
  undo() {
    this.arms.unshift({ ...this.held.arm, seconds: this.held.seconds });
    this.held = null;
    this._save();
  }

  /** Let the held rating be sent. */
  commit() {
    this._release();
    this._save();
  }

  /** Return what to send next: ratings in their order, or one skipped arm; null, if there is nothing. */
  batch() {
    if (!this.outbox.length) return null;
    if (this.outbox[0].answer === null) return { skip: this.outbox[0].ticket };
    const end = this.outbox.findIndex((one) => one.answer === null);
    return { ratings: this.outbox.slice(0, end < 0 ? undefined : end) }; // a copy: more may come meanwhile
  }

  /** Forget what the server has acknowledged. */
  sent(tickets) {
    this.outbox = this.outbox.filter((one) => !tickets.includes(one.ticket));
    this._save();
  }

  /** Return how many arms to ask for: the server lists those that are open, but to a guest new ones alone. */
  wanted() {
    if (this.isGuest) return Math.max(0, WANTED - this.arms.length);
    return WANTED + (this.held === null ? 0 : 1);
  }

  get wantsArms() {
    return this.arms.length < WANTED;
  }

  /** Take the arms of a reply. What was decided here is never shown again, whatever the server has heard so far. */
  take(arms) {
    const decided = new Set(this.outbox.map((one) => one.ticket));
    if (this.held !== null) decided.add(this.held.arm.ticket);
    const mine = new Set(this.arms.map((arm) => arm.ticket));
    const listed = new Set(arms.map((arm) => arm.ticket));
    const kept = this.arms.filter((arm, place) => place === 0 || this.isGuest || listed.has(arm.ticket));
    this.arms = [...kept, ...arms.filter((arm) => !mine.has(arm.ticket) && !decided.has(arm.ticket))];
    this._save();
  }

  /** The sitting or the study is over: nothing more is shown. */
  end() {
    this.arms = [];
    this._save();
  }

  /** Tell every other tab of this rater that this one is in use; `onOther` is called when another one says so. */
  claim(onOther) {
    const key = `${this._key}-tab`;
    this._token = crypto.getRandomValues(new Uint32Array(2)).join("-");
    write(key, this._token);
    removeEventListener("storage", this._onStorage);
    this._onStorage = (event) => event.key === key && !this._isMine() && onOther();
    addEventListener("storage", this._onStorage);
  }

  _isMine() {
    return read(`${this._key}-tab`) === this._token;
  }

  _release() {
    if (this.held === null) return;
    const { arm, answer, seconds } = this.held;
    this.outbox.push({ ticket: arm.ticket, answer, seconds });
    this.held = null;
  }

  _save() {
    if (!this._isMine()) return; // another tab goes on from what was kept
    const { arms, held, outbox, agreed } = this;
    write(this._key, { arms, held, outbox, agreed });
  }
}

// A browser that keeps nothing, as some do in private windows, still rates.

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // full, or not allowed
  }
}
