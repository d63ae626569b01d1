// The rating page: one arm after another, by touch, mouse, keys or screen reader.

import { count } from "./numbers.js";
import { keyHint, keysOf, made, renderArm } from "./rate-arm.js";
import { caller, pictureAddress } from "./rate-calls.js";
import { Courier } from "./rate-courier.js";
import { help, intro, message, thanks } from "./rate-screens.js";
import { keepPage } from "./rate-shell.js";
import { HOLD } from "./rate-tickets.js";

const SETTLE = 300; // milliseconds for which a new arm takes no answer: the second tap of two was for the one before
const LONGEST_LOOK = 86_400; // seconds that the server takes as a response time

const link = decodeURIComponent(location.pathname.split("/")[2]);
const courier = new Courier(caller(link), claims(), show);
const at = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));

let usesKeys = true;
let holding; // the timer of the held rating
let shown = { ticket: null, sitting: null, since: 0, text: null };
let screenName = "";
let animated = "";

start();

function start() {
  at.undo.append(keyHint("U"), made("span", "", "Undo"));
  at.skip.append(made("span", "", "Skip"), keyHint("S"));
  at.undo.addEventListener("click", undo);
  at.skip.addEventListener("click", () => decide(null));
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("pagehide", () => courier.flush());
  addEventListener("pageshow", (event) => event.persisted && courier.retry());
  addEventListener("online", () => courier.retry());
  addEventListener("resize", fit);
  addEventListener("scroll", fade, { passive: true });
  at.arm.addEventListener("load", fit, true); // a picture has a height now
  addEventListener("load", keepPage);
  courier.go();
  show();
}

/** Return what the address says about the rater: Prolific's names, or an id that was signed by the server. */
function claims() {
  const given = new URLSearchParams(location.search);
  const said = {
    id: given.get("PROLIFIC_PID") || given.get("id"),
    study_id: given.get("STUDY_ID"),
    session_id: given.get("SESSION_ID"),
    signature: given.get("signature"),
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value));
}

// What the rater does

function decide(answer) {
  const arm = courier.sheet?.shown;
  const looked = performance.now() - shown.since;
  if (at.arm.hidden || arm?.ticket !== shown.ticket || looked < SETTLE) return;
  const seconds = Math.min((arm.seconds ?? 0) + looked / 1000, LONGEST_LOOK);
  courier.complaint = "";
  courier.sheet.decide(answer, seconds, Date.now());
  say(answer === null ? "Skipped." : `Rated ${answer}.`);
  courier.changed();
  show();
}

function undo() {
  if (!courier.sheet?.held || courier.isElsewhere) return;
  courier.sheet.undo();
  say("Undone.");
  courier.changed();
  show();
}

function commit() {
  courier.sheet.commit();
  courier.changed();
  show();
}

function onKey(event) {
  if (!usesKeys || event.repeat || event.ctrlKey || event.metaKey || event.altKey || at.foot.hidden) return;
  const key = (/^[!-~]+$/.test(event.key) ? event.key : event.code.slice(-1)).toLowerCase(); // other alphabets
  const digit = /^\d$/.test(key) ? key : /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
  const { scale } = courier.sitting;
  const answer = scale[keysOf(scale).indexOf(digit)];
  if (answer !== undefined) decide(answer);
  else if (key === "s") decide(null);
  else if (key === "u") undo();
}

/** A page that is hidden may never come back, on a phone above all: what is held is sent. */
function onVisibility() {
  if (document.hidden && courier.sheet?.held && !courier.isElsewhere) commit();
  else if (!document.hidden) courier.retry();
}

// What is shown

/** How long a rating is still held, in milliseconds; a clock that was set back does not hold it for longer. */
function left({ until }) {
  return Math.min(HOLD, Math.max(0, until - Date.now()));
}

function show() {
  clearTimeout(holding);
  const held = courier.isElsewhere || courier.refusal ? null : (courier.sheet?.held ?? null);
  if (held) holding = setTimeout(commit, left(held));
  const screen = whichScreen();
  showNotice();
  showProgress(screen);
  showHeld(held, screen);
  if (screen === null) showArm();
  else showScreen(...screen);
  at.skip.hidden = screen !== null;
  fit();
}

/** Return the name and the parts of what is shown instead of an arm; null, if there is one. */
function whichScreen() {
  const { refusal, isElsewhere, sitting, sheet, progress, why } = courier;
  if (refusal) return ["refused", () => refused(refusal)];
  if (isElsewhere) return ["elsewhere", elsewhere];
  if (sitting === null) return courier.away ? ["away", noServer] : ["loading", loading];
  if (!sitting.scale.length) return ["no scale", noScale];
  if (!courier.hasBegun) return ["intro", welcome];
  if (sheet.shown) return null;
  if (courier.away) return ["away", noServer];
  if (courier.isFetching) return ["loading", loading];
  if (sheet.held || sheet.outbox.length) return ["last", last];
  if (progress.done) return ["done", () => thanks(progress)];
  return [why ?? "none", () => nothing(why)];
}

function loading() {
  return [made("p", "quiet rate-loading", "One moment …")];
}

function welcome() {
  const { sitting } = courier;
  return intro({ ...sitting, picture: address(sitting.picture) }, () => courier.begin());
}

function noScale() {
  return message("Not ready yet", ["This study has no answers to choose from yet.", "Come back later, or ask the person who sent you the link."]);
}

function last() {
  const { progress, sheet } = courier;
  const isEnd = progress.of !== null && progress.rated + sheet.unsent >= progress.of;
  const heading = isEnd ? "That was the last one" : "That was the last one for now";
  return message(heading, ["You can still undo it."], { label: isEnd ? "Finish" : "Go on", onClick: commit });
}

function nothing(why) {
  if (why === "finished") return message("Thank you", ["This study is finished. You can close this page."]);
  if (why === "paused") {
    return message("A short break", ["This study is paused. This page goes on by itself when it is resumed."]);
  }
  const again = { label: "Look again", onClick: () => courier.changed() };
  return message("Nothing left to rate", ["You have rated all there is for you at the moment. More may come."], again);
}

function elsewhere() {
  return message("Open in another tab", ["You are rating in another tab or window."], {
    label: "Rate here instead",
    onClick: () => courier.takeOver(),
  });
}

function noServer() {
  const now = { label: "Try now", onClick: () => courier.retry() };
  return message("No connection", ["This page goes on by itself when the connection is back."], now);
}

function refused({ message: detail, advice, reason }) {
  const headings = { link: "This link does not work", cookie: "A cookie is needed", full: "This link is used up" };
  const heading = headings[reason];
  const lost = courier.sheet?.unsent ? "What you rated last could not be sent." : "";
  return message(heading ?? "This does not work", [sentence(detail), sentence(advice), lost]);
}

function showScreen(name, parts) {
  at.arm.hidden = true;
  at.screen.hidden = false;
  shown = { ticket: null, sitting: null, since: 0, text: null };
  if (name === screenName) return;
  const isFirst = screenName === "";
  screenName = name;
  at.screen.dataset.name = name;
  at.screen.replaceChildren(...parts());
  if (!isFirst) {
    at.screen.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function showArm() {
  const { sheet, sitting } = courier;
  at.screen.hidden = true;
  at.arm.hidden = false;
  screenName = "arm";
  const arm = sheet.shown;
  if (shown.ticket === arm.ticket && shown.sitting === sitting) return;
  const since = shown.ticket === arm.ticket ? shown.since : performance.now();
  const { text } = renderArm(at.arm, {
    question: sitting.question,
    picture: address(sitting.picture),
    arm: { text: arm.text, picture: address(arm.picture) },
    scale: sitting.scale,
    onAnswer: (place) => decide(sitting.scale[place]),
  });
  if (shown.sitting !== sitting) showAbout();
  shown = { ticket: arm.ticket, sitting, since, text };
  at.arm.dataset.ticket = arm.ticket;
  text.focus({ preventScroll: true });
  scrollTo(0, 0);
  if (sheet.arms[1]?.picture) new Image().src = address(sheet.arms[1].picture); // there when it is shown
}

function showAbout() {
  const parts = help(courier.sitting, usesKeys, (on) => (usesKeys = on));
  at.about.replaceChildren(at.about.firstElementChild, ...parts);
  document.title = courier.sitting.question || "Rate";
}

function showNotice() {
  const { away, complaint, sheet } = courier;
  const kept = sheet?.unsent ? "Your ratings are kept here and will be sent." : "";
  let text = "";
  if (away?.seconds) text = `The server is busy. This page goes on by itself. ${kept}`;
  else if (away) text = `${navigator.onLine ? "The server does not answer." : "You are offline."} ${kept}`;
  else if (complaint) text = `A rating was not taken: ${complaint}.`;
  if (at.notice.textContent !== text) at.notice.textContent = text;
  if (sheet) document.body.dataset.unsent = sheet.unsent;
}

function showProgress(screen) {
  const { progress, sheet } = courier;
  const of = progress?.of ?? null;
  const isShown = screen === null || screen[0] === "last" || screen[0] === "done";
  at.head.hidden = of === null || progress.rated === null || !isShown;
  if (at.head.hidden) return;
  const rated = Math.min(progress.rated + sheet.unsent, of);
  at.count.textContent = `${count(screen === null ? Math.min(rated + 1, of) : rated)} of ${count(of)}`;
  at.bar.max = of;
  at.bar.value = rated;
}

function showHeld(held, screen) {
  at.foot.hidden = screen !== null && held === null;
  at.about.hidden = screen !== null;
  if (held === null && document.activeElement === at.undo) (shown.text ?? at.screen).focus({ preventScroll: true });
  at.undo.disabled = held === null;
  at.last.textContent = held === null ? "" : held.answer === null ? "Skipped" : `Rated: ${held.answer}`;
  const token = held === null ? "" : `${held.arm.ticket} ${held.until}`;
  if (token === animated) return;
  animated = token;
  at.undo.getAnimations({ subtree: true }).forEach((animation) => animation.cancel());
  if (held === null || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const rest = left(held);
  at.undo.animate([{ backgroundSize: `${(100 * rest) / HOLD}% 3px` }, { backgroundSize: "0 3px" }], rest);
}

/** The answers stay in sight below a long text, unless they would cover most of it. */
function fit() {
  const panel = at.arm.querySelector(".arm-panel");
  if (!panel) return;
  const height = panel.offsetHeight + at.foot.offsetHeight;
  document.documentElement.style.setProperty("--foot", `${at.foot.offsetHeight}px`);
  document.documentElement.style.setProperty("--below", `${height}px`);
  document.body.classList.toggle("flows", height > innerHeight * 0.6);
  fade();
}

/** Text that goes on below the answers fades out above them. */
function fade() {
  const [stage, panel] = at.arm.children;
  const isCovered = panel && stage.getBoundingClientRect().bottom > panel.getBoundingClientRect().top + 1;
  document.body.classList.toggle("covers", Boolean(isCovered));
}

/** Have a screen reader say something, the same as before too. */
function say(text) {
  at.said.textContent = at.said.textContent === text ? `${text}\u00a0` : text;
}

function sentence(text) {
  return text && `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

function address(id) {
  return pictureAddress(link, id ?? null);
}
