// Values that an operator writes, checked before they are sent: what is wrong is said in words of the page, at its field.

import { count } from "/static/numbers.js";

/** What a field has that should not be sent: the focus goes there. */
function refuse(input, detail, advice) {
  input.closest("details")?.setAttribute("open", "");
  input.focus();
  throw { detail, advice };
}

/** Return the whole number of a field. */
export function whole(input, what, most = Infinity) {
  const value = Number(input.value);
  if (input.validity.badInput || !Number.isInteger(value) || value < 1) refuse(input, `${what} is “${input.value}”`, "write a whole number, 1 or more");
  if (value > most) refuse(input, `${what} is “${input.value}”`, `write at most ${count(most)}`);
  return value;
}

/** Return the whole number of a field that may be empty: null then. */
export function wholeOrNone(input, what, most) {
  return input.value === "" && !input.validity.badInput ? null : whole(input, what, most);
}

/** Return the address in a field, which may be empty. */
export function address(input, what) {
  const text = input.value.trim();
  if (text !== "" && !/^https:\/\/\S+$/.test(text)) refuse(input, `${what} is “${text}”`, "write an address that begins with https://, or nothing");
  return text;
}

/** Return the name of a study. */
export function studyName(input) {
  const text = input.value.trim();
  if (!text) refuse(input, "the study has no name yet", "write a short one, such as captions");
  if (text.includes("/")) refuse(input, `the name is “${text}”`, "write one without a slash");
  return text;
}
