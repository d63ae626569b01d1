// The climb of an arm through the levels, as a small picture and in words.

import { element, svg } from "/static/api.js";
import { count, counted, mean } from "/static/numbers.js";

const WORDS = { introduced: "new", shifted: "waits", discarded: "dropped" }; // as the boxes have them
const COLUMNS = [50, 64]; // how wide a step is, at least and at most
const ROW = 44;
const EDGE = 44; // left of the first step, for the names of levels
const ROOM = 20; // right of the last
const FOOT = 34; // below the lowest level, for the ratings

/** Return a picture of the steps of an arm, as `GET …/arm` has them, in the width that there is; null without steps. */
export function climb(steps) {
  if (!steps.length) return null;
  const frame = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The climb" });
  const hint = element("p", { class: "quiet" });
  let width = 0;
  new ResizeObserver(() => {
    if (frame.clientWidth === width) return;
    width = frame.clientWidth;
    frame.replaceChildren(drawn(steps, width));
    const isCut = frame.scrollWidth > width;
    hint.textContent = `The numbers at the bottom count all ratings of the study by then.${isCut ? " Scroll the picture sideways to see all steps." : ""}`;
  }).observe(frame);
  return element("div", {}, frame, hint);
}

function drawn(steps, room) {
  const points = steps.flatMap(place);
  const highest = Math.max(1, ...points.map((point) => point.level));
  const wide = Math.max(COLUMNS[0], Math.min(COLUMNS[1], (room - EDGE - ROOM) / steps.length));
  const width = EDGE + wide * steps.length + ROOM;
  const height = (highest + 1) * ROW + FOOT;
  const x = (column) => EDGE + wide * (column + 0.5);
  const y = (level) => (highest - level) * ROW + ROW / 2 + 4;
  const levels = Array.from({ length: highest + 1 }, (_, level) => level);
  return svg(
    "svg",
    { class: "climb", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `The climb in ${counted(steps.length, "step")}; it is told in words below` },
    levels.map((level) => [
      svg("line", { class: "climb-level", x1: EDGE, x2: width - 6, y1: y(level), y2: y(level) }),
      svg("text", { class: "climb-name", x: 2, y: y(level) + 4 }, `level ${count(level)}`),
    ]),
    svg("polyline", { class: "climb-line", points: points.map((point) => `${x(point.column)},${y(point.level)}`).join(" ") }),
    steps.map((step, column) => {
      const level = step.outcome === "lifted" ? step.level + 1 : step.level;
      return [
        mark(step.outcome, x(column), y(level), told(step)),
        svg("text", { class: "climb-name", x: x(column), y: y(level) - 11, "text-anchor": "middle" }, word(step)),
        svg("text", { class: "climb-name", x: x(column), y: height - 8, "text-anchor": "middle" }, count(step.pulls)),
      ];
    }),
  );
}

/** Where the line goes at a step: it rises within the column of a lift. */
function place(step, column) {
  if (step.outcome !== "lifted") return [{ column, level: step.level }];
  return [{ column: column - 0.35, level: step.level }, { column, level: step.level + 1 }];
}

function mark(outcome, x, y, text) {
  const title = svg("title", {}, text);
  if (outcome === "discarded") {
    const path = `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x - 6} ${y + 6}L${x + 6} ${y - 6}`;
    return svg("path", { class: "climb-mark discarded", d: path }, title);
  }
  return svg("circle", { class: `climb-mark ${outcome}`, cx: x, cy: y, r: outcome === "lifted" ? 7 : 5 }, title);
}

function word(step) {
  return WORDS[step.outcome] ?? step.outcome;
}

/** Return a step in words. */
export function told(step) {
  const rivals = step.rivals.map((rival) => `“${rival.text}” (${mean(rival.mean)})`).join(" and ");
  const against = rivals ? ` with mean ${mean(step.mean)}, against ${rivals}` : "";
  const from = step.outcome === "lifted" ? ` from level ${count(step.level)}` : ` at level ${count(step.level)}`;
  return `after ${counted(step.pulls, "rating")}: ${word(step)}${from}${against}`;
}

/** Return the steps in words, as a list. */
export function story(steps) {
  return element("ol", { class: "story" }, steps.map((step) => element("li", {}, told(step))));
}
