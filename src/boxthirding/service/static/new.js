// The page on which a study is made, and what an operator needs then: the rating link.

import { call, element, studyPath } from "/static/api.js";
import { address, studyName, wholeOrNone } from "/static/checks.js";
import { said } from "/static/dialogs.js";
import { linkCard } from "/static/link-card.js";
import { arms as armsOf, uploaded } from "/static/new-arms.js";
import { plan as planOf } from "/static/new-plan.js";
import { scaleEditor } from "/static/new-scale.js";
import { renderArm } from "/static/rate-arm.js";

const EMPTY = { text: "Your first arm stands here", picture: null };

const form = document.getElementById("new-study");
const preview = document.getElementById("preview");
const progress = document.getElementById("progress");
const problem = document.getElementById("problem");
const button = form.querySelector("button[type=submit]");
let at = 0; // the arm in the preview
let picture = null; // the address of the study's picture here

function field(id) {
  return document.getElementById(id);
}

let arms = null; // until they are there, nothing is shown
const scale = scaleEditor(field("preset"), field("scale"), () => show());
let plan = null;
arms = armsOf(form, () => show());
plan = planOf(document.getElementById("plan"), arms, scale);

function show() {
  if (arms === null) return;
  const samples = arms.samples();
  field("another").hidden = samples.length < 2;
  const arm = samples.length ? samples[at % samples.length] : EMPTY;
  renderArm(preview, { question: field("question").value || field("question").placeholder, picture, arm, scale: scale.labels() });
  for (const answer of preview.querySelectorAll("button")) answer.tabIndex = -1;
  plan?.look();
}

field("question").addEventListener("input", show);
field("another").addEventListener("click", () => {
  at += 1;
  show();
});
field("picture").addEventListener("change", () => {
  if (picture) URL.revokeObjectURL(picture);
  const [file] = field("picture").files;
  picture = file ? URL.createObjectURL(file) : null;
  show();
});

form.addEventListener("input", () => problem.replaceChildren()); // what was wrong may be right now

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  problem.replaceChildren();
  try {
    await make();
  } catch (wrong) {
    problem.replaceChildren(said(wrong));
    problem.scrollIntoView({ block: "nearest" });
  } finally {
    button.disabled = false;
    progress.textContent = "";
  }
});

async function make() {
  const about = { question: field("question").value.trim(), scale: scale.read(), repeats: field("repeats").checked };
  for (const text of ["instructions", "consent", "thanks"]) about[text] = field(text).value.trim();
  if (!about.question) {
    field("question").focus();
    throw { detail: "raters are asked nothing yet", advice: "write a question, such as “How funny is this caption?”" };
  }
  const name = studyName(field("name"));
  const sitting = wholeOrNone(field("sitting"), "the number of ratings of one rater", Number(field("sitting").max));
  if (sitting !== null) about.sitting = sitting;
  about.completion = address(field("completion"), "the address where raters go at the end");
  const chosen = await arms.read((text) => {
    progress.textContent = text;
  });
  const [file] = field("picture").files;
  if (file) about.picture = await uploaded(file);
  progress.textContent = "Making the study …";
  await call("POST", "/studies?brief=true", { name, ...chosen, about, policy: field("policy").value });
  await finish(name);
}

/** The study is there: make its rating link, and show it. */
async function finish(name) {
  const page = studyPath(name);
  let shown;
  try {
    shown = linkCard(await call("POST", `${page}/links`, { name: "first" }));
  } catch (wrong) {
    shown = element("div", {}, said(wrong), element("p", {}, "The study is there all the same; make a link on its page."));
  }
  const title = element("h1", { tabindex: "-1" }, `${name} is ready`);
  const made = document.getElementById("made");
  made.replaceChildren(title, shown, element("p", {}, element("a", { class: "button primary", href: page }, "Go to the study")));
  plan.stop();
  form.hidden = true;
  made.hidden = false;
  title.focus();
}

show();
