// What all pages of an operator share: calls of the public API, its event stream, elements.

import { localized } from "/static/numbers.js";

export const API = "/api/v1";

/** Why a call failed: `detail` says what is wrong, `advice` what to do; `status` is 0 when the server was not reached. */
export class Problem extends Error {
  constructor(status, detail, advice = "") {
    super(advice ? `${detail}: ${advice}` : detail);
    this.name = "Problem";
    this.status = status;
    this.detail = detail;
    this.advice = advice;
  }
}

const NO_KEY = "sign in on the start page with an operator's key, or open the link that `boxthirding serve` printed";

/** Call the API and return its JSON, or null for an empty reply; a Blob or File is sent as it is; a signal ends it. */
export async function call(method, path, body, signal) {
  const options = { method, headers: {}, signal };
  if (body instanceof Blob) {
    options.body = body;
    options.headers["Content-Type"] = "application/octet-stream";
  } else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(API + path, options);
  } catch {
    throw new Problem(0, "the server cannot be reached", "check that it runs; this page goes on when it is back");
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer.status === 204 ? null : answer.json();
}

async function problemOf(answer) {
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) return new Problem(401, "you are not signed in", NO_KEY);
  return new Problem(answer.status, localized(said.detail ?? `the server answered ${answer.status}`), localized(said.advice ?? ""));
}

/** The path of a study in the API. */
export function studyPath(name) {
  return `/studies/${encodeURIComponent(name)}`;
}

/** The view of a study as its page has it: counts, and what raters are shown. */
export function viewPath(name) {
  return `${studyPath(name)}?brief=true`;
}

/** Write a query: parameters that are null, undefined or empty are left out. */
export function query(parameters) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

/** What a problem with a study means for its page: "gone", "out" (of no more use until signed in), or "cut off". */
export function stateOf(problem) {
  return { 401: "out", 403: "out", 404: "gone" }[problem.status] ?? "cut off";
}

const LOOK = 5_000; // milliseconds between two looks at the clock
const ASLEEP = 30_000; // a longer pause between them means that the browser slept
const RETRY = [1_000, 2_000, 5_000, 10_000]; // milliseconds until the next attempt, when the browser has given up

/**
 * Hear that something happens to a study after event number `after`.
 *
 * onNews() is called at most twice a second. onState(state, problem) is called with "live" once the stream is open, and again
 * when it came back (what the page shows may be old: read it again); "cut off" while it is not, and it comes back by
 * itself; "gone" when the study was deleted; "out" when the key is of no more use. The last two end the stream. It is
 * closed while the page is hidden, as a browser has few connections to a server, and while it is left, as it may be come
 * back to by the Back button; then it hears what it missed. Returns a function that stops listening.
 */
export function listen(study, after, onNews, onState) {
  let last = after;
  let source = null;
  let attempts = 0;
  let timer = null;
  let stopped = false;
  let looked = Date.now();

  function open() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(`${API}${studyPath(study)}/stream?brief=true&after=${last}`);
    source.onopen = () => {
      attempts = 0;
      onState("live");
    };
    source.onmessage = (message) => {
      last = JSON.parse(message.data).seq;
      onNews();
    };
    source.onerror = () => {
      onState("cut off");
      if (source.readyState === EventSource.CLOSED) again();
    };
  }

  function again() {
    clearTimeout(timer);
    timer = setTimeout(reopen, RETRY[Math.min(attempts, RETRY.length - 1)]);
    attempts += 1;
  }

  /** Look why the stream ended, and open it again if that is of use. */
  async function reopen() {
    if (stopped || document.hidden) return;
    source?.close();
    try {
      const { seq } = await call("GET", viewPath(study));
      if (stopped || document.hidden) return;
      if (seq < last) last = seq; // another study of the same name
      open();
    } catch (problem) {
      if (stopped) return;
      const state = stateOf(problem);
      onState(state, problem);
      if (state === "cut off") again();
      else stop();
    }
  }

  function look() {
    const slept = Date.now() - looked > ASLEEP;
    looked = Date.now();
    if (slept) reopen();
  }

  function turned() {
    clearTimeout(timer);
    if (document.hidden) source?.close();
    else reopen();
  }

  function left() {
    clearTimeout(timer);
    source?.close();
  }

  function cameBack(event) {
    if (event.persisted) reopen();
  }

  function stop() {
    stopped = true;
    clearTimeout(timer);
    clearInterval(clock);
    document.removeEventListener("visibilitychange", turned);
    removeEventListener("online", reopen);
    removeEventListener("pagehide", left);
    removeEventListener("pageshow", cameBack);
    source?.close();
  }

  const clock = setInterval(look, LOOK);
  document.addEventListener("visibilitychange", turned);
  addEventListener("online", reopen);
  addEventListener("pagehide", left);
  addEventListener("pageshow", cameBack);
  if (!document.hidden) open();
  return stop;
}

/**
 * Make an element: `element("a", { href: "/", class: "button" }, "Home")`. An attribute `onclick` and the like is a
 * listener; true is an attribute without a value; false, null and undefined are left out, also among the children.
 */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value") made.value = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== false && child !== null && child !== undefined));
  return made;
}
