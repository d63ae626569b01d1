// Results that are wildly off, and so do not count: which they are, and how one is made to count.

import { element } from "/static/api.js";
import { count, counted } from "/static/numbers.js";
import { ratings } from "/static/ratings.js";

export function start(section, study) {
  const title = element("h2", { id: "aside-title" });
  const content = element("div", {});
  section.replaceChildren(title, element("div", { class: "card warned" }, content));

  let shown = null; // what is corrected just now stays until something has changed
  function show({ aside, set_aside: latest, status }) {
    section.hidden = aside === 0;
    const now = JSON.stringify([aside, latest, status === "finished"]);
    if (shown === now) return;
    shown = now;
    title.textContent = `${counted(aside, "rating")} set aside`;
    const rows = [...latest].reverse();
    const some = aside > rows.length ? ` These are the latest ${count(rows.length)}.` : "";
    const way = study.isOperator && status !== "finished" ? " Correct one, and it counts; with the same value too, if that is right." : "";
    content.replaceChildren(
      element("p", {}, `Such values are wildly off, as what a crashed program writes, and do not count.${way}${some}`),
      ratings(study, rows, () => content.querySelector("button")?.focus(), (one) => element("p", { class: "of" }, one.text)),
    );
  }
  study.onChange(show);
  show(study.view);
}
