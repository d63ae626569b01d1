// Numbers and dates as the reader writes them: 5,000 or 5.000. Words stay English.

const LOCALES = navigator.languages;
const NONE = "–";

function written(digits, style = {}) {
  return new Intl.NumberFormat(LOCALES, { minimumFractionDigits: digits, maximumFractionDigits: digits, ...style });
}

const whole = written(0);
const three = written(3);
const one = written(0, { maximumFractionDigits: 1 });
const share = written(0, { maximumFractionDigits: 1, style: "percent" });
const two = new Intl.NumberFormat(LOCALES, { maximumSignificantDigits: 2 });
const six = new Intl.NumberFormat(LOCALES, { maximumSignificantDigits: 6 });
const exact = new Intl.NumberFormat(LOCALES, { maximumSignificantDigits: 15, useGrouping: false, numberingSystem: "latn" });

function or(format) {
  return (value) => (value === null || value === undefined ? NONE : format(value));
}

/** A count: 12,345. */
export const count = or((value) => whole.format(value));

/** A mean, with three decimals. */
export const mean = or((value) => three.format(value));

/** A share as a percentage. */
export const percent = or((value) => share.format(value));

/** Seconds: 2.5 s. */
export const seconds = or((value) => `${one.format(value)} s`);

/** A number with two digits that say something. */
export const roughly = or((value) => two.format(value));

/** A single value, such as a reward. */
export const value = or((value) => six.format(value));

/** A number with all its digits, as it is typed. */
export const typed = or((value) => exact.format(value));

/** A count with its noun: "1 rating", "2 ratings". */
export function counted(value, noun, nouns = `${noun}s`) {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

/** What writes numbers with so many decimals. */
export function decimals(digits) {
  const format = written(digits);
  return (value) => format.format(value + 0);
}

/** What writes a Date; `style` is as for Intl.DateTimeFormat. */
export function clock(style) {
  const format = new Intl.DateTimeFormat(LOCALES, style);
  return (at) => format.format(at);
}

const moment = clock({ dateStyle: "medium", timeStyle: "short" });

/** A date and time, from seconds since 1970. */
export const date = or((at) => moment(new Date(at * 1000)));

/** How long something took: "3 minutes". */
export function duration(seconds) {
  const [unit, size] = [["day", 86_400], ["hour", 3_600], ["minute", 60]].find(([, size]) => seconds >= size) ?? ["second", 1];
  return counted(Math.floor(seconds / size), unit);
}

/** How long ago a moment is: "3 minutes ago"; "now" also for one that is ahead of this clock. */
export function ago(at) {
  const gone = Date.now() / 1000 - at;
  return gone < 1 ? "now" : `${duration(gone)} ago`;
}

// What is quoted, which stays as it is; else a number as English writes it: 5,000 or -0.31 or 98 % or 2e-05.
const QUOTED = String.raw`“.*”|(?<!\w)'[^']*'(?!\w)|"[^"]*"`;
const NUMBER = String.raw`(?<![\w.,:/-])(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]\d+)?)( ?%)?(?!\w|[.,:/-]\d)`;
const FOUND = new RegExp(`${QUOTED}|${NUMBER}`, "gs");

/** A sentence of the server, in English, with its numbers as the reader writes them. */
export function localized(text) {
  return text.replace(FOUND, (found, number, percent) => (number === undefined ? found : rewritten(number, percent)));
}

function rewritten(number, percent) {
  const value = Number(number.replaceAll(",", ""));
  const [digits, power] = number.split("e");
  const style = { useGrouping: number.includes(","), ...(power === undefined ? {} : { notation: "scientific" }) };
  const behind = digits.split(".")[1]?.length ?? 0;
  return percent === undefined ? written(behind, style).format(value) : written(behind, { ...style, style: "unit", unit: "percent" }).format(value);
}
