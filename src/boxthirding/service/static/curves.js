// The curves of a study: its answer and the arms tried over the ratings, ratings by time, and how long they took.

import { element } from "/static/api.js";
import { bars, chart, line } from "/static/chart.js";
import { bounds, boundsOn, writer } from "/static/colours.js";
import { clock, count, counted, date, seconds, typed } from "/static/numbers.js";
import { follow } from "/static/tables.js";

const PAUSE = 3_000; // milliseconds between two looks, as curves change slowly

const time = clock({ hour: "2-digit", minute: "2-digit" });
const day = clock({ month: "short", day: "numeric" });

export function start(section, study) {
  const leader = chart("The mean of the answer", (data, width) => drawLeader(data, width, study.view.about.scale), "No ratings yet.");
  const tried = chart("Arms tried", drawTried, "No ratings yet.");
  const rate = chart("Ratings over time", drawRate, "No ratings yet.");
  const times = chart("Response times", drawTimes, "No response times yet: the rating page measures them.");
  section.replaceChildren(
    element("h2", { id: "curves-title" }, "Curves"),
    element("div", { class: "figures" }, [leader, tried, rate, times].map((one) => one.figure)),
  );

  async function look() {
    try {
      const data = await study.call("GET", "/history");
      leader.show(data.moments.length ? data : null);
      tried.show(data.moments.length ? data : null);
      rate.show(data.rate.counts.length ? data.rate : null);
      times.show(data.seconds.counts.some(Boolean) ? data.seconds : null);
    } catch (problem) {
      if (problem.status && problem.status !== 404) section.dataset.problem = problem.message; // the banner says the rest
    }
  }
  follow(section, study, look, PAUSE);
}

/** The name of an axis that counts all ratings that were told, excluded ones too. */
function told({ moments, pulls }) {
  return moments.at(-1).results === pulls ? "ratings" : "ratings, with those that do not count";
}

function drawLeader(data, width, scale) {
  const { moments, pulls } = data;
  const ys = boundsOn(scale, moments.map((moment) => moment.mean));
  const written = writer(ys);
  let before = null;
  let changes = 0;
  const points = moments.map((moment) => {
    const isNew = moment.label !== before;
    if (isNew && before !== null) changes += 1;
    before = moment.label;
    const mark = isNew ? `${moment.text}: mean ${written(moment.mean)} after ${counted(moment.results, "rating")}` : null;
    return { x: moment.results, y: moment.mean, mark };
  });
  const now = moments.at(-1);
  const summary = `Now ${written(now.mean)} after ${counted(pulls, "rating")}; a dot wherever another arm became the answer (${counted(changes, "change")} seen).`;
  return { parts: line({ points, width, xName: told(data), isStepped: true, ys }), summary };
}

function drawTried(data, width) {
  const { moments, pulls } = data;
  const points = [{ x: 0, y: 0 }, ...moments.map((moment) => ({ x: moment.results, y: moment.tried }))];
  const now = moments.at(-1);
  const summary = `${counted(now.tried, "arm")} tried with ${counted(pulls, "rating")}: where the curve bends, ratings go to arms tried before.`;
  return { parts: line({ points, width, xName: told(data), yText: count, ys: bounds([0, ...points.map((point) => point.y)]) }), summary };
}

function drawRate({ start: first, minutes, counts }, width) {
  const span = counts.length * minutes;
  const rows = counts.map((results, place) => {
    const at = first + 60 * minutes * place;
    const moment = new Date(1000 * at);
    return { height: results, text: span > 2 * 1440 ? day(moment) : time(moment), label: `${date(at)}: ${counted(results, "rating")}` };
  });
  const each = minutes === 1 ? "minute" : minutes < 60 ? `${count(minutes)} minutes` : minutes === 60 ? "hour" : `${count(minutes / 60)} hours`;
  const most = Math.max(...counts);
  return { parts: bars({ rows, width, xName: `ratings per ${each}` }), summary: `At most ${count(most)} per ${each}; ${count(counts.at(-1))} in the latest.` };
}

function drawTimes({ edges, counts, median }, width) {
  const rows = counts.map((results, place) => {
    const end = edges[place + 1];
    const range = end === undefined ? `${seconds(edges[place])} or more` : `${typed(edges[place])} to ${seconds(end)}`;
    return { height: results, text: end === undefined ? `${typed(edges[place])}+` : `${typed(edges[place])}–${typed(end)}`, label: `${range}: ${counted(results, "rating")}` };
  });
  return { parts: bars({ rows, width, xName: "seconds" }), summary: `Half of the ratings took less than about ${seconds(median)}.` };
}
