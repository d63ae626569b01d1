// All arms: paged, sorted and searched on the server; one arm with its climb and its ratings; withdraw, correct, add.

import { API, element, query } from "/static/api.js";
import { climb, story } from "/static/climb.js";
import { ask, note, said } from "/static/dialogs.js";
import { count, counted, localized, mean } from "/static/numbers.js";
import { orderText } from "/static/order-text.js";
import { ratings } from "/static/ratings.js";
import { follow, pager, table } from "/static/tables.js";

const PAGE = 25;
const RATINGS = 50; // of one arm
const TITLE = 120; // letters
const WAIT = 250; // milliseconds after the last letter of a search
const ORDERS = {
  best: "Best first",
  "-mean": "Highest mean first",
  mean: "Lowest mean first",
  "-pulls": "Most ratings first",
  pulls: "Fewest ratings first",
  "-level": "Highest level first",
  level: "Lowest level first",
  label: "A to Z",
  "-label": "Z to A",
  latest: "Rated last first",
  tried: "In the order tried",
  given: "As given, untried too",
};

export function start(section, study) {
  let timer = null;
  const search = element("input", {
    type: "search",
    placeholder: "Search",
    "aria-label": "Search arms",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(anew, WAIT);
    },
  });
  const order = element(
    "select",
    { "aria-label": "Order of the arms", onchange: anew },
    Object.entries(ORDERS).map(([value, text]) => element("option", { value }, text)),
  );
  const more = study.isOperator ? element("button", { type: "button", onclick: add }, "Add arms") : null;
  const wrong = element("div");
  const none = element("p", { class: "quiet", hidden: true });
  const why = element("p", { class: "quiet" });
  const rows = table("Arms", columns(), (arm) => arm.key, sort);
  const pages = pager("arms", PAGE, refresh);
  section.replaceChildren(
    element(
      "div",
      { class: "head" },
      element("h2", { id: "arms-title" }, "Arms"),
      element("div", { class: "tools" }, search, order, more),
    ),
    wrong,
    element("div", { class: "card" }, why, none, rows.element, pages.element),
  );

  function columns() {
    return [
      { name: "Arm", order: "label", cell: label },
      { name: "Mean", order: "mean", number: true, cell: (arm) => mean(arm.mean) },
      { name: "Ratings", order: "pulls", number: true, cell: (arm) => count(arm.pulls) },
      { name: "Level", order: "level", number: true, cell: (arm) => count(arm.level) },
    ];
  }

  function label(arm) {
    return [
      element(
        "button",
        { type: "button", class: "link", onclick: () => open(arm.key) },
        arm.picture ? element("img", { class: "thumb", src: `${API}/pictures/${arm.picture}`, alt: "", loading: "lazy" }) : null,
        element("span", { class: "text" }, named(arm)),
      ),
      arm.withdrawn ? [" ", element("span", { class: "badge" }, "withdrawn")] : null,
      arm.skipped ? [" ", element("span", { class: "badge warn" }, `skipped by ${count(arm.skipped)}`)] : null,
    ].flat();
  }

  function sort(by) {
    order.value = by;
    anew();
  }

  function anew() {
    rows.sorted(order.value);
    pages.reset();
    refresh();
  }

  /** Say nothing of levels where the policy has none. */
  let hasLevels = false;
  function levelled(arms) {
    hasLevels ||= arms.some((arm) => arm.level !== null);
    rows.leaveOut(hasLevels ? [] : ["Level"]);
    for (const option of order.options) option.hidden = !hasLevels && /^-?level$/.test(option.value);
  }

  let asked = 0;
  async function refresh() {
    const mine = (asked += 1);
    try {
      const found = await study.call("GET", `/arms${query({ first: pages.first, count: PAGE, order: order.value, search: search.value.trim(), brief: true })}`);
      if (mine !== asked) return; // another search is under way
      levelled(found.arms);
      why.textContent = order.value === "best" ? orderText(found.arms, study.view.direction) : "";
      rows.show(found.arms);
      rows.element.hidden = !found.arms.length;
      if (more) more.hidden = study.view.status === "finished";
      none.hidden = Boolean(found.arms.length);
      none.textContent = search.value.trim() ? "No arm has this text." : "No arm has been tried yet. Choose “As given, untried too” to see those that wait.";
      pages.show(found.arms.length);
      wrong.replaceChildren();
    } catch (problem) {
      if (problem.status) wrong.replaceChildren(said(problem));
    }
  }

  /** Show one arm. */
  async function open(key) {
    let arm, results;
    try {
      [arm, { results }] = await read(key);
    } catch (problem) {
      note(problem.message);
      return;
    }
    const picture = climb(arm.steps);
    const text = named(arm);
    const isLong = text.length > TITLE;
    const facts = element("p");
    const now = element("p");
    function tell({ mean: average, pulls, skipped, place }) {
      facts.textContent = `${average === null ? "Not tried yet." : `Mean ${mean(average)} of ${counted(pulls, "rating")}.`}${skipped ? ` Skipped by ${counted(skipped, "rater")}.` : ""}`;
      now.textContent = place ? `Now: ${localized(place)}.` : "";
    }
    tell(arm);
    const isOut = arm.place === "withdrawn";
    const dialog = ask({
      title: isLong ? `${text.slice(0, TITLE)}…` : text,
      content: [
        isLong ? element("p", {}, text) : null,
        arm.picture ? element("img", { class: "arm-shown", src: `${API}/pictures/${arm.picture}`, alt: text }) : null,
        facts,
        picture ? element("h3", {}, "Its climb") : null,
        picture,
        arm.steps.length ? element("details", {}, element("summary", {}, "In words"), story(arm.steps), now) : now,
        results.length ? element("h3", {}, results.length < RATINGS ? "Its ratings" : `Its last ${count(RATINGS)} ratings`) : null,
        ratingsOf(key, results, tell),
        study.isOperator && !isOut && study.view.status !== "finished"
          ? element("p", {}, element("button", { type: "button", class: "danger", onclick: () => withdraw(arm, dialog) }, "Withdraw this arm"))
          : null,
      ],
    });
  }

  /** Read an arm and its ratings. */
  function read(key) {
    return Promise.all([
      study.call("GET", `/arm${query({ key, brief: true })}`),
      study.call("GET", `/arm/results${query({ key, count: RATINGS })}`),
    ]);
  }

  /** The ratings of an arm; when one was corrected, all is read again, and tell(arm) is called. */
  function ratingsOf(key, results, tell) {
    const list = (rows) => ratings(study, rows, again);
    const place = element("div", {}, list(results));
    async function again({ ticket }) {
      refresh();
      const [arm, found] = await read(key);
      tell(arm);
      place.replaceChildren(list(found.results));
      place.querySelector(`[data-ticket="${ticket}"] button`)?.focus();
    }
    return place;
  }

  function withdraw(arm, dialog) {
    ask({
      title: "Withdraw this arm?",
      content: [element("p", {}, `“${named(arm).slice(0, TITLE)}” is shown to no one any more and cannot be the answer. This cannot be undone; its ratings stay in the exports.`)],
      yes: "Withdraw",
      danger: true,
      act: async () => {
        await study.call("DELETE", `/arm${query({ key: arm.key })}`);
        dialog.close();
        await study.refresh();
        refresh();
      },
    });
  }

  function add() {
    const lines = element("textarea", { rows: 6, id: "more-arms", spellcheck: "false" });
    ask({
      title: "Add arms",
      content: [element("label", { for: "more-arms" }, "One arm on each line"), lines],
      yes: "Add",
      act: async () => {
        const arms = [...new Set(lines.value.split("\n").map((line) => line.trim()).filter(Boolean))];
        if (!arms.length) throw { detail: "there is nothing to add", advice: "write one arm on each line" };
        await study.call("POST", "/arms", { arms });
        note(`${counted(arms.length, "arm")} added.`);
        await study.refresh();
        refresh();
      },
    });
  }

  follow(section, study, refresh);
}

/** What an arm is called: its text, or the label that its key quotes. */
function named({ text, key }) {
  return text || key.replace(/^['"]|['"]$/g, "");
}
