// How many ratings a new study will take: two guesses in words, and what ratings will give, simulated on the server.

import { call, element } from "/static/api.js";
import { said } from "/static/dialogs.js";
import { count, counted, localized, roughly } from "/static/numbers.js";

const WAIT = 800; // milliseconds after the last change of the form
const LONG = 8_000; // milliseconds after which a plan takes longer than usual
const GOOD = 10; // per cent: one of the best in ten is a find

// As shares of the scale. Captions of cartoons have about 0.22 and 0.06, so that is where the guesses begin.
const NOISE = [["nearly agree", 0.12], ["differ somewhat", 0.25], ["differ a lot", 0.4]];
const SPREAD = [["a bit better than most", 0.06], ["clearly better than most", 0.12], ["far better than most", 0.25]];

const rules = new Intl.PluralRules("en", { type: "ordinal" });
const ENDINGS = { one: "st", two: "nd", few: "rd", other: "th" };

/** Let a box ask for two guesses and show a plan; `look()` when the form has changed, `stop()` to end. */
export function plan(box, arms, scale) {
  const [noise, spread] = ["plan-noise", "plan-spread"].map((id) => box.querySelector(`#${id}`));
  const shown = box.querySelector("#plan-shown");
  let isGuessed = false; // by the operator
  let asked = null; // what is shown, or simulated just now
  let timer = null;
  let request = null;
  noise.addEventListener("change", () => {
    isGuessed = true;
    look();
  });
  spread.addEventListener("change", () => look());

  /** What a plan would be made of, or a sentence that says what is missing. */
  function wanted() {
    const rewards = scale.rewards();
    if (!rewards.every(Number.isFinite)) return "Every answer needs a number as its reward.";
    const range = Math.max(...rewards) - Math.min(...rewards);
    if (!(range > 0)) return "All answers count the same: give them different rewards.";
    choices(noise, NOISE, range, isGuessed ? noise.selectedIndex : Number(new Set(rewards).size === 2) + 1);
    choices(spread, SPREAD, range, Math.max(0, spread.selectedIndex));
    const there = arms.count();
    if (there < 2) return "Shown here once there are two arms.";
    return { arms: there, noise: share(NOISE, noise) * range, spread: share(SPREAD, spread) * range };
  }

  function look() {
    const now = wanted();
    const name = JSON.stringify(now);
    if (name === asked) return;
    stop();
    asked = name;
    if (typeof now === "string") shown.replaceChildren(element("p", { class: "quiet" }, now));
    else {
      working("Simulating …");
      timer = setTimeout(() => make(now), WAIT);
    }
  }

  function working(text) {
    shown.replaceChildren(
      element("div", { class: "working" }, element("progress", { "aria-label": "Simulating" }), element("span", { class: "quiet", role: "status" }, text), element("button", { type: "button", class: "small", onclick: cancel }, "Stop")),
    );
  }

  async function make(now) {
    request = new AbortController();
    const { signal } = request;
    timer = setTimeout(() => working("Simulating; the first plan on a server takes up to a minute …"), LONG);
    try {
      const found = await call("POST", "/plan", now, signal);
      if (!signal.aborted) show(found);
    } catch (problem) {
      if (!signal.aborted) shown.replaceChildren(said(problem), again());
    } finally {
      if (!signal.aborted) clearTimeout(timer);
    }
  }

  function show(found) {
    const { rows } = found;
    shown.replaceChildren(
      element("p", { role: "status" }, verdict(rows, found.arms)),
      element(
        "table",
        { class: "plan" },
        element("caption", { class: "unseen" }, "What ratings will give"),
        element("thead", {}, element("tr", {}, ["Ratings", "The answer, on average", "In 9 of 10 contests"].map((name, place) => element("th", { scope: "col", class: place ? null : "number" }, name)))),
        element("tbody", {}, rows.map((row) => element("tr", {}, element("th", { scope: "row", class: "number" }, count(row.budget)), element("td", {}, ranked(row)), element("td", {}, among(row, found.arms))))),
      ),
      element("p", { class: "quiet" }, "Simulated with your two guesses, for the policy chase. A study can give its best answer at any time: you need not decide now."),
      ...found.notes.map(localized).map((note) => element("p", { class: "quiet" }, `${note.charAt(0).toUpperCase()}${note.slice(1)}.`)),
    );
  }

  function again() {
    return element("button", { type: "button", class: "small", onclick: retry }, "Simulate again");
  }

  function retry() {
    asked = null;
    look();
  }

  function cancel() {
    stop();
    shown.replaceChildren(element("p", { class: "quiet", role: "status" }, "Stopped."), again());
    shown.querySelector("button").focus();
  }

  function stop() {
    clearTimeout(timer);
    request?.abort();
    request = null;
  }

  look();
  return { look, stop };
}

/** Fill a select with guesses, each with its size on this scale; keep what is there if the scale is the same. */
function choices(select, guesses, range, at) {
  const texts = guesses.map(([text, part]) => `${text} (by ${roughly(part * range)})`);
  if (select.textContent !== texts.join("")) select.replaceChildren(...texts.map((text) => element("option", {}, text)));
  select.selectedIndex = at;
}

function share(guesses, select) {
  return guesses[select.selectedIndex][1];
}

/** Say how many ratings it takes to find a good arm, or what the most of them give. */
function verdict(rows, arms) {
  const enough = rows.find((row) => row.percentile_9_of_10 <= GOOD);
  if (enough) return `About ${counted(enough.budget, "rating")} are enough for ${among(enough, arms)} of ${count(arms)} arms.`;
  const last = rows.at(-1);
  return `With ${counted(last.budget, "rating")} the answer is ${ranked(last)} of ${count(arms)} arms, on average.`;
}

function ranked({ rank }) {
  const place = Math.round(rank);
  return place === 1 ? "the best" : `about the ${count(place)}${ENDINGS[rules.select(place)]} best`;
}

function among(row, arms) {
  const most = Math.max(1, Math.round((row.percentile_9_of_10 * arms) / 100));
  return most === 1 ? "the best" : `one of the best ${count(most)}`;
}
