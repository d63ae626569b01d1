// The page of a study: one event stream for all its parts. Each part is a module with start(section, study), which may
// return a promise of what it first shows.

import { call, element, listen, stateOf, studyPath, viewPath } from "/static/api.js";
import { start as answer } from "/static/study-answer.js";
import { start as arms } from "/static/arms.js";
import { start as outliers } from "/static/outliers.js";
import { start as boxes } from "/static/boxes.js";
import { start as curves } from "/static/curves.js";
import { said } from "/static/dialogs.js";
import { start as header } from "/static/study-header.js";
import { start as raters } from "/static/raters.js";
import { start as share } from "/static/access.js";

const PAUSE = 500; // milliseconds between two refreshes
const RETRY = 3_000; // milliseconds until the next, when one has failed
const FIRST = { header, answer, outliers, boxes };
const THEN = { curves, raters, arms, share }; // for the server, they are more work

/**
 * A study as the parts of its page have it.
 *
 * name, view (the latest, as GET /studies/{name}?brief=true has it), key (of the reader: scope and study)
 * call(method, path, body): a call below the study's path, such as call("GET", "/top?k=5")
 * onChange(callback): callback(view) when something has happened, at most twice a second
 * refresh(): read the view and tell all parts, after something was changed here
 */
class Study {
  #listeners = [];
  #timer = null;
  #busy = false;
  #due = false;
  #read = -PAUSE; // when the view was read last

  constructor(view, key) {
    this.name = view.name;
    this.view = view;
    this.key = key;
  }

  get isOperator() {
    return this.key.scope === "operator";
  }

  call(method, path, body) {
    return call(method, studyPath(this.name) + path, body);
  }

  onChange(callback) {
    this.#listeners.push(callback);
  }

  later() {
    this.#due = true;
    if (this.#timer === null && !this.#busy) this.#timer = setTimeout(() => this.refresh(), Math.max(0, this.#read + PAUSE - performance.now()));
  }

  async refresh() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#due = true;
    if (this.#busy) return;
    this.#busy = true;
    this.#due = false;
    this.#read = performance.now(); // which no clock that is set back changes
    let view = null;
    try {
      view = await call("GET", viewPath(this.name));
    } catch (problem) {
      if (problem.status) { // else the stream says so, and comes back by itself
        state(stateOf(problem), problem);
        if (!isOver) setTimeout(() => this.later(), RETRY);
      }
    } finally {
      this.#busy = false;
    }
    if (view !== null) this.#tell(view);
    if (this.#due) this.later();
  }

  #tell(view) {
    this.view = view;
    if (isLive) upToDate(true);
    for (const callback of this.#listeners) callback(view);
  }
}

const banner = document.getElementById("connection");
const sections = document.getElementById("sections");
let isFirst = true;
let isLive = false; // the event stream is open
let isOver = false; // the study is gone, or the key is of no more use
let study = null;

function upToDate(is) {
  banner.hidden = is;
  sections.classList.toggle("stale", !is);
}

/** Say whether the page is up to date, and what to do if not. */
function state(now, problem) {
  if (isOver) return;
  isOver = now === "gone" || now === "out";
  isLive = now === "live" || (isLive && Boolean(problem?.status)); // a call may fail while the stream goes on
  upToDate(now === "live");
  if (now === "live") {
    if (!isFirst) study.refresh();
    isFirst = false;
  } else if (now === "gone") {
    banner.replaceChildren(said({ detail: "this study was deleted", advice: "the start page has the others" }));
    sections.inert = true;
  } else if (now === "out") {
    banner.replaceChildren(said(problem));
    sections.inert = true;
  } else {
    const what = problem?.status ? said(problem).textContent : "The server cannot be reached.";
    banner.textContent = `${what} What you see may be old; this page goes on by itself.`;
  }
}

/** Lead home from a study that is not there. */
function notFound() {
  document.querySelector("header nav").hidden = true;
  banner.prepend(element("h1", {}, "There is no such study"));
  banner.append(element("div", { class: "actions" }, element("a", { class: "button", href: "/" }, "Go to the start page")));
}

async function start() {
  const name = decodeURIComponent(location.pathname.split("/")[2]);
  document.title = `${name} · boxthirding`;
  let view, key;
  try {
    [view, key] = await Promise.all([call("GET", viewPath(name)), call("GET", "/session")]);
  } catch (problem) {
    banner.hidden = false;
    banner.replaceChildren(said(problem));
    if (problem.status === 404) notFound();
    if (!problem.status || problem.status >= 500) setTimeout(start, RETRY);
    return;
  }
  banner.hidden = true;
  study = new Study(view, key);
  const first = Object.entries(FIRST).map(([part, begin]) => begin(document.getElementById(part), study));
  sections.hidden = false;
  listen(name, view.seq, () => study.later(), state);
  await Promise.allSettled(first);
  for (const [part, begin] of Object.entries(THEN)) begin(document.getElementById(part), study);
}

start();
