// The answer now: what it is, how far it can be believed, and what comes next.

import { API, element } from "/static/api.js";
import { whisker } from "/static/chart.js";
import { bounds, writer } from "/static/colours.js";
import { count, counted, duration, localized, percent } from "/static/numbers.js";
import { orderText } from "/static/order-text.js";

const INTERVAL = `${percent(0.95)} interval`;
const LONG = 120; // letters, from which on a text is set smaller

export function start(section, study) {
  const content = element("div", {});
  section.replaceChildren(element("h2", { id: "answer-title" }, "The answer now"), content);

  let isBusy = false;
  let isDue = false;
  async function look() {
    if (isBusy) {
      isDue = true;
      return;
    }
    isBusy = true;
    isDue = false;
    try {
      show(await study.call("GET", "/answer"));
    } catch (problem) {
      if (problem.status && problem.status !== 404) content.dataset.problem = problem.message;
    } finally {
      isBusy = false;
      if (isDue) look();
    }
  }

  function show(data) {
    if (data.answer === null) {
      content.replaceChildren(element("p", { class: "card quiet" }, "There is no answer before the first rating. Share the rating link, and it appears here."));
      return;
    }
    const rows = [data.answer, ...data.next];
    const range = bounds(rows.flatMap((arm) => (arm.low === null ? [arm.mean] : [arm.low, arm.high])));
    const written = writer(range, 50);
    content.replaceChildren(element("div", { class: "answer" }, best(data, written), table(rows, range, written)));
  }

  function best({ answer, since, words, is_clear: isClear, screening }, written) {
    const interval = answer.low === null ? null : element("div", {}, element("dt", {}, INTERVAL), element("dd", {}, `${written(answer.low)} to ${written(answer.high)}`));
    return element(
      "div",
      { class: "card best", "data-key": answer.key },
      face(answer, "winner"),
      element(
        "dl",
        { class: "facts" },
        fact("Mean", written(answer.mean)),
        interval,
        fact("Ratings", count(answer.pulls)),
        answer.level === null ? null : fact("Level", count(answer.level)),
        since === null ? null : fact("The answer for", held(since)),
        screening === null ? null : fact(`Chance that one of the best ${percent(screening.share)} is in the race`, localized(screening.percent)),
      ),
      element("p", { class: isClear ? "belief clear" : "belief" }, localized(words)),
      screening === null ? null : element("p", { class: "quiet" }, localized(screening.words)),
    );
  }

  function table(rows, range, written) {
    const next = rows.length - 1;
    const hasIntervals = rows.some((arm) => arm.low !== null);
    const hasLevels = rows.some((arm) => arm.level !== null);
    return element(
      "div",
      { class: "card" },
      element("h3", {}, next ? `The answer and the next ${next === 5 ? "five" : count(next)}` : "No other arm has been rated yet"),
      element("p", { class: "quiet" }, orderText(rows, study.view.direction)),
      next === 0
        ? null
        : element(
            "table",
            { class: "ranking" },
            element(
              "thead",
              {},
              element(
                "tr",
                {},
                element("th", { scope: "col" }, "Arm"),
                element("th", { scope: "col", class: "number" }, "Mean"),
                hasIntervals && element("th", { scope: "col" }, INTERVAL),
                element("th", { scope: "col", class: "number" }, "Ratings"),
                hasLevels && element("th", { scope: "col", class: "number" }, "Level"),
              ),
            ),
            element("tbody", {}, rows.map((arm, place) => row(arm, place === 0, { range, written, hasIntervals, hasLevels }))),
          ),
    );
  }

  study.onChange(look);
  return look();
}

function row(arm, isAnswer, { range, written, hasIntervals, hasLevels }) {
  const interval = arm.low === null ? "–" : `${written(arm.low)} to ${written(arm.high)}`;
  return element(
    "tr",
    { class: isAnswer ? "first" : null },
    element("th", { scope: "row" }, face(arm, "small"), arm.close ? element("span", { class: "quiet close" }, "may be as good") : null),
    element("td", { class: "number", "data-name": "mean" }, written(arm.mean)),
    hasIntervals && element("td", { class: "interval-cell" }, whisker(arm, range), element("span", { class: "ends" }, interval)),
    element("td", { class: "number", "data-name": "ratings" }, count(arm.pulls)),
    hasLevels && element("td", { class: "number", "data-name": "level" }, count(arm.level)),
  );
}

/** An arm as raters see it. */
function face(arm, kind) {
  const picture = arm.picture === null ? null : element("img", { src: `${API}/pictures/${arm.picture}`, alt: "", loading: "lazy" });
  return element("div", { class: `look ${kind}${arm.text.length > LONG ? " long" : ""}` }, picture, element("div", { class: "text", title: kind === "small" ? arm.text : null }, kind === "small" ? arm.name : arm.text));
}

function fact(name, value) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value));
}

/** For how long it has been the answer: time, and ratings since. */
function held({ seconds, results }) {
  return results ? `${duration(seconds)}, while ${counted(results, "rating")} came in` : duration(seconds); // excluded ones came in, too
}
