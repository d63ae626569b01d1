// The head of a study's page: its name and status, and what an operator does to it as a whole.

import { element } from "/static/api.js";
import { ask, note } from "/static/dialogs.js";
import { counted } from "/static/numbers.js";

const STATUS = { open: "running", paused: "paused", finished: "finished", known: "known" };

export function start(section, study) {
  const title = element("h1", {}, study.name);
  const badge = element("span", { class: "badge" });
  const question = element("p", { class: "quiet" });
  const actions = element("div", { class: "actions" });
  section.replaceChildren(element("div", { class: "head" }, element("div", {}, element("div", { class: "titled" }, title, badge), question), actions));

  async function act(path) {
    try {
      await study.call("POST", `${path}?brief=true`);
      await study.refresh();
    } catch (problem) {
      note(problem.message);
    }
  }

  function button(text, onclick, more = {}) {
    return element("button", { type: "button", onclick, ...more }, text);
  }

  function buttons(view) {
    const made = [];
    if (study.isOperator && view.status === "open") made.push(button("Pause", () => act("/pause")));
    if (study.isOperator && view.status === "paused") made.push(button("Resume", () => act("/resume"), { class: "primary" }));
    if (study.isOperator && view.status !== "finished") made.push(button("Finish", finish));
    made.push(exports());
    if (study.isOperator && study.key.study === null) made.push(button("Delete", remove, { class: "danger" }));
    return made;
  }

  function exports() {
    const base = `/api/v1/studies/${encodeURIComponent(study.name)}`;
    const files = [
      ["report.html", "A report to hand on (one page)"],
      ["results.csv", "Every rating (CSV)"],
      ["arms.csv", "A summary by arm (CSV)"],
      ["journal.jsonl", "Everything that happened (JSON lines)"],
    ];
    return menu(
      element("summary", { class: "button" }, "Export"),
      element("ul", {}, files.map(([file, text]) => element("li", {}, element("a", { href: `${base}/${file}`, download: true }, text)))),
    );
  }

  function finish() {
    ask({
      title: "Finish this study?",
      content: [element("p", {}, "Nothing changes the answer after that: raters are given nothing more, and ratings that still arrive, results of programs, corrections and exclusions are refused. This cannot be undone, so exclude and correct first. The answer and the exports stay.")],
      yes: "Finish",
      act: async () => {
        await study.call("POST", "/finish?brief=true");
        await study.refresh();
      },
    });
  }

  function remove() {
    ask({
      title: "Delete this study?",
      content: [element("p", {}, `Its ${counted(study.view.spent, "rating")}, its links and its keys are gone for good. Export first what you want to keep.`)],
      yes: "Delete for good",
      danger: true,
      typed: study.name,
      act: async () => {
        await study.call("DELETE", "");
        location.assign("/");
      },
    });
  }

  /** A menu that closes by Escape, and by a click elsewhere. */
  function menu(...children) {
    const made = element("details", { class: "menu" }, children);
    made.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      made.open = false;
      made.querySelector("summary").focus();
    });
    document.addEventListener("click", (event) => {
      if (!made.contains(event.target)) made.open = false;
    });
    return made;
  }

  let shown = null;
  function show(view) {
    badge.textContent = STATUS[view.status] ?? view.status;
    badge.className = `badge ${view.status}`;
    question.textContent = view.about.question;
    if (shown === view.status) return;
    const isFocused = actions.contains(document.activeElement);
    actions.replaceChildren(...buttons(view));
    if (isFocused) actions.firstElementChild.focus();
    shown = view.status;
  }
  study.onChange(show);
  show(study.view);
}
