// Carries a sheet to the server and back, one call at a time, and goes on by itself when the server was away.

import { Away, Refused } from "./rate-calls.js";
import { Sheet } from "./rate-tickets.js";

const FIRST_WAIT = 1000; // milliseconds before the server is tried again; doubled each time
const LONGEST_WAIT = 30_000;
const LOOK_AGAIN = 10_000; // milliseconds until a study that had nothing to rate is asked again

export class Courier {
  /**
   * @param {function(string, object, ?string): Promise<object>} call calls an endpoint of the link for a rater
   * @param {object} claims what the rater says it is
   * @param {function(): void} onChange called when there is something new to show
   */
  constructor(call, claims, onChange) {
    this._call = (what, body) => call(what, body, this.sheet?.name); // in this browser others may rate, too
    this._claims = claims;
    this._onChange = onChange;
    this.sitting = null; // what the study shows around an arm
    this.progress = null; // {rated, of, done}, and in the end {thanks, completion}
    this.sheet = null;
    this.why = null; // why the server has no arm: done, paused, finished, none left for now
    this.away = null; // how the server was away, while it is
    this.refusal = null; // what the server said that ends the page
    this.isElsewhere = false; // whether another tab is in use
    this.complaint = ""; // why a rating was not taken
    this._isStale = true; // whether the study must be asked what it shows
    this._isDry = false; // whether the server gave all it has for now
    this._isBusy = false;
    this._hadCookie = true;
    this._attempts = 0;
  }

  /** Whether an arm may be on its way. */
  get isFetching() {
    return this._isBusy || this.away !== null;
  }

  /** Whether the rater has agreed to what must be agreed to. */
  get hasBegun() {
    const texts = this._texts();
    return texts === "" || this.sheet.agreed === texts;
  }

  begin() {
    this.sheet.agree(this._texts());
    this.go();
  }

  /** The sheet has changed: send and fetch what there is. */
  changed() {
    this._isDry = false;
    this.go();
  }

  /** Try now what would be tried later. */
  retry() {
    clearTimeout(this._backOff);
    this._backOff = null;
    this.changed();
  }

  /** Use this tab, and no other. */
  takeOver() {
    this.isElsewhere = false;
    this._isStale = true;
    this.sheet.load();
    this.sheet.claim(() => this._standBack());
    this.retry();
  }

  /** Send what there is without waiting: the page is being left. */
  flush() {
    if (this.sheet === null || this.isElsewhere) return;
    this.sheet.commit();
    const send = (what, body) => this._call(what, { ...body, want: 0 }).catch(() => {}); // kept until acknowledged
    const ratings = this.sheet.outbox.filter((one) => one.answer !== null);
    if (ratings.length) send("ratings", { ratings });
    this.sheet.outbox.filter((one) => one.answer === null).forEach(({ ticket }) => send("skips", { ticket }));
  }

  async go() {
    if (this._isBusy || this._backOff) return;
    this._isBusy = true;
    let mayTryAgain = false;
    try {
      for (let step = this._next(); step !== null; step = this._next()) {
        await step();
        this._attempts = 0;
        this.away = null;
        this._onChange();
      }
    } catch (error) {
      mayTryAgain = this._failed(error);
    } finally {
      this._isBusy = false;
    }
    if (mayTryAgain) {
      this.go();
      return;
    }
    this._lookAgain();
    this._onChange();
  }

  /** Return what to do next; null, if there is nothing. */
  _next() {
    if (this.isElsewhere || this.refusal !== null) return null;
    if (this._isStale) return () => this._sit();
    if (!this.hasBegun || !this.sitting.scale.length) return null;
    const batch = this.sheet.batch();
    if (batch?.ratings) return () => this._rate(batch.ratings);
    if (batch) return () => this._skip(batch.skip);
    if (this._isDry || this.progress.done || !this.sheet.wantsArms) return null;
    return () => this._fetch();
  }

  async _sit() {
    const said = await this._call("sitting", this._claims);
    if (this.sheet?.name !== said.rater) {
      if (this.sheet?.unsent) this.complaint = "this browser has deleted the cookie of this page";
      this.sheet = new Sheet(said.rater);
      this.sheet.claim(() => this._standBack());
    }
    this.sheet.isGuest = said.rated === null;
    this.sitting = this.progress = said;
    this._isStale = false;
  }

  async _rate(ratings) {
    const want = this.sheet.wanted();
    const said = await this._call("ratings", { ratings, want });
    this.sheet.sent(ratings.map((one) => one.ticket));
    const notTaken = said.ratings.find((one) => one.why);
    if (notTaken) this.complaint = notTaken.why;
    if (notTaken?.outcome === "refused") this._isStale = true; // the answers to choose from may have changed
    this._take(said, want);
  }

  async _skip(ticket) {
    const want = this.sheet.wanted();
    let said = null;
    try {
      said = await this._call("skips", { ticket, want });
    } catch (error) {
      if (error.status !== 409) throw error; // it was skipped before, and the answer was lost
    }
    this.sheet.sent([ticket]);
    if (said !== null) this._take(said, want);
  }

  async _fetch() {
    const want = this.sheet.wanted();
    this._take(await this._call("next", { want }), want);
  }

  _take(said, want) {
    this._hadCookie = true;
    this.progress = said;
    if (said.done || said.why === "finished") this.sheet.end();
    else if (want > 0) this.sheet.take(said.arms);
    if (want === 0) return;
    this._isDry = said.arms.length < want;
    this.why = said.why ?? null;
  }

  /** Take note of a failure; return whether to try again at once. */
  _failed(error) {
    if (error instanceof Away) {
      this.away = error;
      this._attempts += 1;
      const wait = Math.min(FIRST_WAIT * 2 ** (this._attempts - 1), LONGEST_WAIT) * (0.75 + Math.random() / 2);
      this._tryAgainAfter(error.seconds === null ? wait : error.seconds * 1000);
    } else if (error instanceof Refused && error.reason === "cookie" && this._hadCookie) {
      this._hadCookie = false; // it was deleted, or never kept: ask for one once
      this._isStale = true;
      return true;
    } else if (error instanceof Refused) {
      this.refusal = error;
    } else {
      throw error;
    }
    return false;
  }

  _tryAgainAfter(milliseconds) {
    this._backOff = setTimeout(() => this.retry(), milliseconds);
  }

  /** Ask again later, if there may be something to rate then, and a rater to see it. */
  _lookAgain() {
    clearTimeout(this._look);
    if (!this._isDry || this.sheet.shown || this.progress.done || this.why === "finished") return;
    this._look = setTimeout(() => document.hidden || this.changed(), LOOK_AGAIN);
  }

  _standBack() {
    this.isElsewhere = true;
    clearTimeout(this._backOff);
    this._backOff = null;
    this._onChange();
  }

  _texts() {
    const { instructions, consent } = this.sitting;
    return [instructions, consent].filter(Boolean).join("\n\n");
  }
}
