// A mean as a colour: from dark blue (worse) over grey to yellow (better), told apart by lightness alone, so that it works
// in both themes, in grey and for the colour-blind. The ink on it is whichever of black and white can be read better.

import { decimals } from "/static/numbers.js";

const STOPS = [
  [12, 44, 92],
  [48, 74, 110],
  [92, 101, 116],
  [127, 124, 117],
  [166, 152, 106],
  [209, 183, 82],
  [252, 222, 64],
];

/** Return a step that people count in, at least as large: 1, 2 or 5 times a power of ten. */
export function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((times) => times * power).find((round) => round >= step * (1 - 1e-9));
}

/** Return round bounds around values; equal ones get some room. */
export function bounds(values) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) {
    const room = Math.abs(high) / 10 || 0.5;
    low -= room;
    high += room;
  }
  const step = roundStep((high - low) / 4);
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}

/** The same for means of answers on a scale, [{ reward }]: equal ones are shown on the whole scale, if there is one. */
export function boundsOn(scale, means) {
  const isOne = Math.min(...means) === Math.max(...means);
  return bounds(isOne ? [...means, ...scale.map((answer) => answer.reward)] : means);
}

/** Return what writes numbers of a range with as many digits as tell them apart, so that they line up. */
export function writer([low, high], parts = 100) {
  const digits = Math.min(8, Math.max(0, Math.ceil(-Math.log10((high - low) / parts) - 1e-9)));
  return decimals(digits);
}

/** Where a mean lies between the worst (0) and the best (1) of a range. */
export function share(value, [low, high], isLowBetter) {
  const part = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return isLowBetter ? 1 - part : part;
}

/** The colour of a share, and the ink on it. */
export function colour(part) {
  const place = part * (STOPS.length - 1);
  const below = Math.min(STOPS.length - 2, Math.floor(place));
  const rest = place - below;
  const mixed = STOPS[below].map((value, channel) => Math.round(value + rest * (STOPS[below + 1][channel] - value)));
  return { paint: `rgb(${mixed.join(" ")})`, ink: luminance(mixed) > 0.179 ? "#000000" : "#ffffff" };
}

/** All of it, from worse to better, as a gradient. */
export function gradient() {
  return `linear-gradient(to right, ${STOPS.map((stop) => `rgb(${stop.join(" ")})`).join(", ")})`;
}

function luminance(channels) {
  const [red, green, blue] = channels.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
