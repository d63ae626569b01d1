// Small charts as SVG: lines, bars and intervals. Each is drawn for the width that it has, in the colours of the theme, and has a
// text that says what it shows.

import { element, svg } from "/static/api.js";
import { bounds, roundStep, writer } from "/static/colours.js";
import { count } from "/static/numbers.js";

const HEIGHT = 200;
const TOP = 12;
const RIGHT = 14;
const BOTTOM = 38;
const WIDEST = 64; // of a bar
const LETTER = 7; // about the width of a letter

/**
 * Return a figure with a chart that is drawn again when its data or its width change.
 * draw(data, width) returns { parts, summary }: what is in the picture, and a sentence that says it.
 */
export function chart(title, draw, empty) {
  const picture = element("div", { class: "chart" });
  const heading = element("h3", {}, title);
  const summary = element("figcaption", { class: "quiet" });
  const figure = element("figure", { class: "card figure" }, heading, picture, summary);
  let data = null;
  let width = 0;

  function redraw() {
    if (width === 0) return;
    const drawn = data === null ? null : draw(data, width);
    if (drawn === null) {
      picture.replaceChildren(element("p", { class: "quiet nothing" }, empty));
      summary.textContent = "";
      return;
    }
    const label = `${title}. ${drawn.summary}`;
    picture.replaceChildren(
      svg("svg", { role: "img", "aria-label": label, width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` }, drawn.parts),
    );
    summary.textContent = drawn.summary;
  }

  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now !== width) {
      width = now;
      redraw();
    }
  }).observe(picture);
  return {
    figure,
    show(next) {
      data = next;
      redraw();
    },
  };
}

/** Return axes: scales for both directions, and their grid and ticks. */
function axes({ xs, ys, width, xName, yText = null, xText = count }) {
  const yTicks = ticks(ys, 4, yText === count ? 1 : 0);
  yText ??= writer([0, yTicks[1] - yTicks[0]], 1);
  const left = 12 + LETTER * Math.max(...yTicks.map((tick) => yText(tick).length));
  const [first, last] = xs;
  const x = (value) => left + (last > first ? ((value - first) / (last - first)) * (width - left - RIGHT) : 0);
  const y = (value) => HEIGHT - BOTTOM - ((value - ys[0]) / (ys[1] - ys[0])) * (HEIGHT - BOTTOM - TOP);
  const most = Math.max(2, Math.floor((width - left) / (LETTER * (xText(xs[1]).length + 3))));
  const xTicks = ticks(xs, Math.min(6, most), xText === count ? 1 : 0).filter((tick) => tick >= xs[0] && tick <= xs[1]);
  const parts = [
    yTicks.map((tick) => [
      svg("line", { class: "gridline", x1: left, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, yText(tick)),
    ]),
    xTicks.map((tick) => {
      const text = xText(tick);
      const half = (LETTER * text.length) / 2;
      const place = Math.min(x(tick), width - half);
      return svg("text", { x: place, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, text);
    }),
    svg("text", { class: "axis", x: (left + width - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, xName),
  ].flat(3);
  return { x, y, left, parts };
}

/** Round numbers of a range, about so many; what is counted has steps of 1 at least. */
function ticks([low, high], about, least = 0) {
  const step = Math.max(least, roundStep((high - low) / about));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}

/** A line through points { x, y }: in steps, or straight, between the bounds `ys` if given; points with a `mark` get a dot, with that text. */
export function line({ points, width, xName, isStepped = false, yText = null, ys = null }) {
  const xs = [0, Math.max(1, ...points.map((point) => point.x))];
  const plane = axes({ xs, ys: ys ?? bounds(points.map((point) => point.y)), width, xName, yText });
  let path = "";
  points.forEach((point, place) => {
    const [across, up] = [plane.x(point.x).toFixed(1), plane.y(point.y).toFixed(1)];
    if (place === 0) path = `M${across} ${up}`;
    else path += isStepped ? `H${across}V${up}` : `L${across} ${up}`;
  });
  const marks = points.filter((point) => point.mark);
  const end = points.at(-1);
  return [
    ...plane.parts,
    svg("path", { class: "curve", d: path }),
    marks.map((point) => svg("circle", { class: "mark", cx: plane.x(point.x), cy: plane.y(point.y), r: 3 }, svg("title", {}, point.mark))),
    svg("circle", { class: "now", cx: plane.x(end.x), cy: plane.y(end.y), r: 4.5 }),
  ].flat();
}

/** Bars { text, height, label }: `text` stands below some of them, as there is room; `label` is shown on hover. */
export function bars({ rows, width, xName }) {
  const most = Math.max(1, ...rows.map((row) => row.height));
  const top = bounds([0, most])[1];
  const plane = axes({ xs: [0, rows.length], ys: [0, Math.max(1, top)], width, xName, yText: count, xText: () => "" });
  const wide = Math.min(WIDEST, (width - plane.left - RIGHT) / rows.length);
  const longest = Math.max(...rows.map((row) => row.text.length));
  const every = Math.max(1, Math.ceil((LETTER * (longest + 2)) / wide));
  const drawn = rows.map((row, place) => {
    const up = plane.y(row.height);
    const across = plane.left + place * wide;
    return svg(
      "rect",
      { class: "bar", x: across + Math.min(1, wide / 8), y: up, width: Math.max(1, wide - Math.min(2, wide / 4)), height: HEIGHT - BOTTOM - up },
      svg("title", {}, row.label),
    );
  });
  const texts = rows.map((row, place) => {
    if (place % every) return null;
    const half = (LETTER * row.text.length) / 2;
    const at = Math.min(width - half, Math.max(half, plane.left + (place + 0.5) * wide));
    return svg("text", { x: at, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, row.text);
  });
  return [...plane.parts, ...drawn, ...texts.filter((text) => text !== null)];
}

/** A small picture of a mean and its interval on a range that rows share; null where there is no interval. */
export function whisker(arm, [low, high]) {
  if (arm.low === null) return null;
  const at = (value) => 4 + 92 * Math.min(1, Math.max(0, (value - low) / (high - low)));
  return svg(
    "svg",
    { class: "whisker", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { class: "gridline", x1: 0, x2: 100, y1: 8, y2: 8 }),
    svg("line", { class: "interval", x1: at(arm.low), x2: at(arm.high), y1: 8, y2: 8 }),
    svg("line", { class: "middle", x1: at(arm.mean), x2: at(arm.mean), y1: 2, y2: 14 }),
  );
}
