// The results excluded as outliers, and a way to correct them.

import { element } from "/static/api.js";
import { count, counted } from "/static/numbers.js";
import { ratings } from "/static/ratings.js";

export function start(section, study) {
  const title = element("h2", { id: "outliers-title" });
  const content = element("div", {});
  section.replaceChildren(title, element("div", { class: "card warned" }, content));

  let shown = null; // what is corrected just now stays until something has changed
  function show({ n_outliers, outliers, status }) {
    section.hidden = n_outliers === 0;
    const now = JSON.stringify([n_outliers, outliers, status === "finished"]);
    if (shown === now) return;
    shown = now;
    title.textContent = `${counted(n_outliers, "outlier")} excluded`;
    const rows = [...outliers].reverse();
    const some = n_outliers > rows.length ? ` These are the latest ${count(rows.length)}.` : "";
    const way = study.isOperator && status !== "finished" ? " Correct one, and it counts; enter the same value if it is right." : "";
    content.replaceChildren(
      element("p", {}, `These ratings differ so much from all others, as the output of a crashed program does, that they do not count.${way}${some}`),
      ratings(study, rows, () => content.querySelector("button")?.focus(), (one) => element("p", { class: "of" }, one.text)),
    );
  }
  study.onChange(show);
  show(study.view);
}
