// The page at /: sign in, and the studies.

import { call, element } from "/static/api.js";
import { said } from "/static/dialogs.js";
import { renew } from "/static/keep-elements.js";
import { count, counted, localized, mean } from "/static/numbers.js";

const STATUS = { open: "running", paused: "paused", finished: "finished", known: "known", unreadable: "unreadable" };

const RETRY = 3_000; // milliseconds until the next attempt, when the server was not reached
const REFRESH = 10_000; // milliseconds between two looks at the list

const state = document.getElementById("state");
const signIn = document.getElementById("sign-in");
const inside = document.getElementById("inside");
const list = document.getElementById("studies");

async function start() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname);
    if (!(await enter(code))) return;
  } else if (!signIn.hidden) {
    return; // no cookie came with the request for this page
  }
  await show();
}

/** Exchange a one-time code or a key for a cookie. */
async function enter(secret) {
  try {
    await call("POST", "/session", { secret });
    return true;
  } catch (problem) {
    state.replaceChildren(said(problem));
    signIn.hidden = false;
    return false;
  }
}

async function show() {
  let studies, key;
  try {
    [studies, key] = await Promise.all([all(), call("GET", "/session")]);
  } catch (problem) {
    const isOut = problem.status === 401;
    signIn.hidden = !isOut;
    inside.hidden = true;
    state.replaceChildren(isOut ? "" : said(problem));
    if (!isOut) setTimeout(show, RETRY);
    return;
  }
  signIn.hidden = true;
  inside.hidden = false;
  document.getElementById("out").hidden = false;
  document.getElementById("new").hidden = !(key.scope === "operator" && key.study === null);
  state.textContent = studies.length ? "" : "There are no studies here yet.";
  renew(list, element("ul", {}, studies.map(row)));
}

/** Read all studies, by pages. */
async function all() {
  const found = [];
  for (let first = 0; first !== null; ) {
    const page = await call("GET", `/studies?brief=true&first=${first}`);
    found.push(...page.studies);
    first = page.next;
  }
  return found;
}

/** Read the list again, if it is looked at. */
function again() {
  if (!document.hidden && !inside.hidden) show();
}

function row(study) {
  if (study.error) {
    return element("li", { class: "card" }, element("h2", {}, study.name), element("p", { class: "problem" }, localized(study.error)));
  }
  const best = study.leads;
  return element(
    "li",
    { class: "card study" },
    element(
      "h2",
      {},
      element("a", { href: `/studies/${encodeURIComponent(study.name)}` }, study.name),
      " ",
      element("span", { class: `badge ${study.status}` }, STATUS[study.status] ?? study.status),
    ),
    study.question ? element("p", { class: "quiet" }, study.question) : null,
    element(
      "dl",
      { class: "facts" },
      fact("Ratings", count(study.pulls)),
      fact("Arms tried", study.untried === null ? count(study.tried) : `${count(study.arms - study.untried)} of ${count(study.arms)}`),
      study.status === "finished" ? null : fact("Raters now", count(study.n_raters)),
    ),
    element(
      "p",
      { class: "leader" },
      best
        ? [element("span", { class: "quiet" }, "Leads: "), best.text, element("span", { class: "quiet leads" }, `mean ${mean(best.mean)} of ${counted(best.pulls, "rating")}`)]
        : element("span", { class: "quiet" }, "No rating yet."),
    ),
  );
}

function fact(name, value) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value));
}

document.getElementById("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const secret = document.getElementById("secret").value.trim();
  if (secret && (await enter(secret))) {
    document.getElementById("secret").value = "";
    await show();
  }
});

document.getElementById("out").addEventListener("click", async () => {
  await call("DELETE", "/session").catch(() => null);
  location.reload();
});

addEventListener("pageshow", (event) => event.persisted && show());
document.addEventListener("visibilitychange", again);
addEventListener("hashchange", start); // the printed link, opened where this page is shown already
setInterval(again, REFRESH);
start();
