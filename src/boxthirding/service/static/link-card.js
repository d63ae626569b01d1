// A rating link that has just been made: its address, a copy button and a QR code. It is shown this once.

import { element } from "/static/api.js";
import { note } from "/static/dialogs.js";

/** Return a field with a secret that is shown once, and a button that copies it. */
export function secretField(label, text) {
  const field = element("input", { type: "text", readonly: true, value: text, "aria-label": label, onfocus: () => select(field) });
  return element("div", { class: "copy" }, field, element("button", { type: "button", onclick: () => copy(text, field) }, "Copy"));
}

/** Return a link as it is handed on. */
export function linkCard(link) {
  return element(
    "div",
    { class: "card link-card" },
    element("p", {}, "Send this rating link to your raters. ", element("strong", {}, "It is shown this once"), "; you can make more links at any time."),
    isHere(link.url) ? element("p", { class: "here" }, "It works on this computer only. For raters elsewhere, start the server with ", element("code", {}, "--public-url"), ", and make another link.") : null,
    secretField("Rating link", link.url),
    element("img", { class: "qr", src: link.qr, alt: "The rating link as a QR code", width: 220, height: 220 }),
    element(
      "p",
      { class: "actions" },
      element("a", { class: "button", href: link.url, target: "_blank", rel: "noopener" }, "Open it as a rater"),
      element("a", { class: "button", href: link.qr, download: "rating-link.svg" }, "Save the QR code"),
    ),
  );
}

/** Whether an address leads to the computer on which it is opened, whichever that is. */
function isHere(url) {
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);
}

/** Select all of a field, and leave its beginning in sight. */
function select(field) {
  field.select();
  requestAnimationFrame(() => field.scrollTo(0, 0)); // the browser scrolls to the end of what is selected
}

async function copy(text, field) {
  try {
    await navigator.clipboard.writeText(text);
    note("Copied.");
  } catch {
    field.focus(); // the clipboard is not ours, as on a page without TLS
    select(field);
    note("Press Ctrl+C, or ⌘C, to copy.");
  }
}
