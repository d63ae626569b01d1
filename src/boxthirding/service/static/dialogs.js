// Questions and messages of an operator's pages: problems in words, a dialog that asks, a note that passes.

import { element } from "/static/api.js";

/** Return a problem in words, as an element that is read aloud. */
export function said(problem) {
  const detail = problem.detail ?? String(problem.message ?? problem);
  const whole = detail.charAt(0).toUpperCase() + detail.slice(1) + (problem.advice ? `: ${problem.advice}` : "");
  const text = /[.!?…]$/.test(whole) ? whole : `${whole}.`;
  return element("p", { class: "problem", role: "alert" }, text.split("`").map((part, place) => (place % 2 ? element("code", {}, part) : part)), problem.status === 401 ? [" ", element("a", { href: "/" }, "Sign in")] : null);
}

const NOTED = 6_000; // milliseconds
const noted = element("p", { class: "note", role: "status" });
document.body.append(noted);
let timer = null;
let asked = 0; // dialogs so far

/** Show a short note at the foot of the page for a while, above a dialog if one is open. */
export function note(text) {
  const host = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (noted.parentElement !== host) host.append(noted);
  noted.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    noted.textContent = "";
  }, NOTED);
}

/**
 * Ask before something is done. `act` is called when the operator agrees; the dialog stays open with the problem if it
 * fails. With `typed`, that text must be typed first.
 */
export function ask({ title, content = [], yes, danger = false, typed = null, act }) {
  const field = typed === null ? null : element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const wrong = element("div");
  const go = element("button", { type: "submit", class: danger ? "danger" : "primary", disabled: typed !== null }, yes);
  asked += 1;
  const heading = element("h2", { id: `dialog-${asked}` }, title);
  const dialog = element(
    "dialog",
    { "aria-labelledby": heading.id },
    element(
      "form",
      { method: "dialog" },
      heading,
      content,
      field && element("label", {}, `Type “${typed}” to confirm`, field),
      wrong,
      element(
        "div",
        { class: "actions" },
        element("button", { type: "button", onclick: () => dialog.close() }, act ? "Cancel" : "Close"),
        act && go,
      ),
    ),
  );
  field?.addEventListener("input", () => {
    go.disabled = field.value.trim() !== typed;
  });
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      await act();
      dialog.close();
    } catch (problem) {
      wrong.replaceChildren(said(problem));
      go.disabled = false;
    }
  });
  const opener = document.activeElement;
  dialog.addEventListener("close", () => {
    if (dialog.contains(noted)) document.body.append(noted);
    dialog.remove();
    if (opener && !opener.isConnected) refocus(opener);
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Go back to the row of a table from which a dialog was opened, when its rows have been made anew since. */
function refocus(opener) {
  const key = opener.closest("tr")?.dataset.key;
  const row = [...document.querySelectorAll("tr[data-key]")].find((one) => one.dataset.key === key);
  row?.querySelector("button, a")?.focus();
}
