// Who rates: how much, how fast, what is unusual; exclude with a look at what the answer would be, include, release.

import { element, query } from "/static/api.js";
import { ask, note, said } from "/static/dialogs.js";
import { ago, count, counted, mean, percent, seconds } from "/static/numbers.js";
import { follow, pager, table } from "/static/tables.js";

const PAGE = 20;
const REFRESH = 20_000; // milliseconds between refreshes of the active raters, while there are any

export function start(section, study) {
  const summary = element("p", { class: "quiet" });
  const only = element(
    "select",
    { "aria-label": "Which raters", onchange: () => { pages.reset(); refresh(); } },
    element("option", { value: "" }, "All raters"),
    element("option", { value: "unusual" }, "Unusual ones"),
    element("option", { value: "excluded" }, "Excluded ones"),
  );
  const rows = table("Raters", columns(), (rater) => rater.holder);
  const pages = pager("raters", PAGE, refresh);
  const wrong = element("div");
  let isActive = false;
  const card = element("div", { class: "card" }, rows.element, pages.element);
  section.replaceChildren(
    element("div", { class: "head" }, element("div", {}, element("h2", { id: "raters-title" }, "Raters"), summary), element("div", { class: "tools" }, only)),
    wrong,
    card,
  );

  function columns() {
    const shown = [
      { name: "Rater", cell: who },
      { name: "Ratings", number: true, cell: (rater) => count(rater.told) },
      { name: "Median time", number: true, cell: (rater) => seconds(rater.median_seconds) },
      { name: "Most used answer", number: true, cell: (rater) => percent(whole(rater.same_answer)) },
      { name: "Skipped", number: true, cell: (rater) => count(rater.skipped) },
      { name: "Last rating", cell: (rater) => element("span", { class: "when" }, ago(rater.last)) },
    ];
    return study.isOperator ? [...shown, { name: "", cell: actions }] : shown;
  }

  function who(rater) {
    const flags = rater.unusual.map((text) => element("span", { class: "badge warn" }, text));
    return [
      element("span", { class: "who", title: rater.holder }, named(rater)),
      rater.excluded ? [" ", element("span", { class: "badge" }, "excluded")] : null,
      flags.flatMap((flag) => [" ", flag]),
    ].flat();
  }

  function actions(rater) {
    if (study.view.status === "finished") return null;
    const verb = rater.excluded ? "Include" : "Exclude";
    return element(
      "div",
      { class: "actions" },
      element("button", { type: "button", class: "small", onclick: () => consider(rater) }, verb),
      rater.open ? element("button", { type: "button", class: "small", onclick: () => release(rater) }, `Release ${counted(rater.open, "arm")}`) : null,
    );
  }

  /** Show what the answer would be, and ask. */
  async function consider(rater) {
    let preview;
    try {
      preview = await study.call("GET", `/exclusions${query({ holder: rater.holder })}`);
    } catch (problem) {
      note(problem.message);
      return;
    }
    const verb = preview.excluded ? "Include" : "Exclude";
    const theirs = `This rater’s ${counted(rater.told, "rating")}`;
    const again = rater.told === 1 ? "counts again" : "count again";
    ask({
      title: `${verb} ${named(rater)}?`,
      content: [
        element("p", {}, preview.excluded ? `${theirs} ${again}. You can undo this.` : `${theirs}, and any later ones, no longer count. You can undo this.`),
        element("p", { class: "verdict" }, verdict(preview)),
        element("div", { class: "compare" }, best("Now", preview.now), best(preview.excluded ? "With this rater" : "Without this rater", preview.then)),
      ],
      yes: verb,
      act: async () => {
        if (preview.excluded) await study.call("DELETE", `/exclusions${query({ holder: rater.holder })}`);
        else await study.call("POST", "/exclusions", { holder: rater.holder });
        await study.refresh();
        refresh();
      },
    });
  }

  async function release(rater) {
    try {
      const { tickets } = await study.call("POST", "/releases", { holder: rater.holder });
      note(`${counted(tickets.length, "arm goes", "arms go")} to the next rater.`);
      refresh();
    } catch (problem) {
      note(problem.message);
    }
  }

  async function refresh() {
    try {
      const found = await study.call("GET", `/raters${query({ first: pages.first, count: PAGE, only: only.value })}`);
      const now = study.view.status === "finished" ? null : `${count(found.n_active)} at work in the last minute`;
      const median = found.median_seconds === null ? null : `median ${seconds(found.median_seconds)} for a rating`;
      isActive = found.n_active > 0;
      summary.textContent = found.n_raters
        ? `${[`Ratings by ${counted(found.n_raters, "rater")}`, now, median].filter(Boolean).join("; ")}.`
        : "No one has rated yet.";
      rows.show(found.raters);
      card.hidden = !found.n_raters;
      only.hidden = !found.n_raters;
      rows.element.hidden = !found.raters.length;
      pages.show(found.raters.length);
      wrong.replaceChildren();
    } catch (problem) {
      if (problem.status) wrong.replaceChildren(said(problem));
    }
  }

  follow(section, study, refresh);
  setInterval(() => isActive && !document.hidden && refresh(), REFRESH); // who stops working leaves no event
}

/** A rater's name for people: the id that it came with, or the end of ours. */
export function named(rater) {
  if (rater.claims?.id) return rater.claims.id;
  return holderName(rater.holder);
}

/** A holder's name for people. */
export function holderName(holder) {
  return holder.startsWith("rater-") ? `rater ${holder.split("-").at(-1).slice(0, 6)}` : holder || "known result";
}

function verdict({ now, then }) {
  const [before, after] = [now.top[0], then.top[0]];
  if (!after) return "There would be no answer.";
  if (before && before.key === after.key) return sentence(`The answer would stay “${after.text}”`);
  return sentence(`The answer would change${before ? ` from “${before.text}”` : ""} to “${after.text}”`);
}

/** End a sentence, unless what it quotes last has ended it. */
function sentence(text) {
  return /[.!?…]”$/.test(text) ? text : `${text}.`;
}

/** A share to the nearest percent. */
function whole(share) {
  return share === null ? null : Math.round(100 * share) / 100;
}

function best(title, { pulls, top }) {
  return element(
    "div",
    {},
    element("h3", {}, title),
    element("p", { class: "quiet" }, `${counted(pulls, "rating")} ${pulls === 1 ? "counts" : "count"}`),
    element("ol", {}, top.map((arm) => element("li", {}, `${arm.text} `, element("span", { class: "quiet" }, mean(arm.mean))))),
  );
}
