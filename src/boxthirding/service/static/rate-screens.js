// What the rating page shows when it shows no arm.

import { made } from "./rate-arm.js";

/** Return the first page: what the study is about, what to do, what a rater agrees to. */
export function intro({ question, description, picture, instructions, consent }, onBegin) {
  const parts = [made("h2", "", question || "Welcome")];
  if (picture) parts.push(illustration(picture));
  parts.push(...paragraphs(description), ...paragraphs(instructions));
  if (consent) {
    const agreement = made("div", "card rate-consent");
    agreement.append(made("h3", "", "Before you begin"), ...paragraphs(consent));
    parts.push(agreement);
  }
  parts.push(action(consent ? "I agree, begin" : "Begin", onBegin));
  return parts;
}

/** Return a message: a heading, sentences, and a button if there is something to do. */
export function message(heading, sentences, button = null) {
  const parts = [made("h2", "", heading), ...sentences.flatMap((text) => paragraphs(text))];
  if (button !== null) parts.push(action(button.label, button.onClick));
  return parts;
}

/** Return the last page: the operator's thanks, and the way back to where the rater came from. */
export function thanks({ thanks: text, completion }) {
  const tick = made("p", "rate-check", "✓");
  tick.setAttribute("aria-hidden", "true");
  const parts = [tick, made("h2", "", "Done"), ...paragraphs(text || "Thank you for rating.")];
  if (completion?.startsWith("https://")) {
    const link = made("a", "button primary rate-action", "Complete");
    link.href = completion;
    parts.push(made("p", "", "One more step: follow this link, so that your work is registered."), link);
  } else {
    parts.push(made("p", "quiet", "You can close this page."));
  }
  return parts;
}

/** Return the parts of the footer that explain the page. */
export function help({ description, instructions }, usesKeys, onKeys) {
  const box = made("input");
  box.type = "checkbox";
  box.checked = usesKeys;
  box.addEventListener("change", () => onKeys(box.checked));
  const label = made("label", "rate-keys");
  label.append(box, made("span", "", "Answer with the keys on the buttons, skip with S, undo with U"));
  const sent = "A rating is sent with the next one, after 5 seconds, or when you leave this page.";
  const held = made("p", "", `${sent} Until then you can undo it.`);
  return [...paragraphs(description), ...paragraphs(instructions), held, label];
}

/** Return a text as paragraphs, divided at empty lines. */
function paragraphs(text) {
  return (text ?? "")
    .split(/\n\s*\n/)
    .filter((part) => part.trim())
    .map((part) => {
      const paragraph = made("p", "rate-text", part.trim());
      paragraph.dir = "auto";
      return paragraph;
    });
}

function illustration(address) {
  const image = made("img", "rate-illustration");
  image.src = address;
  image.alt = "The picture that the question is about";
  return image;
}

function action(label, onClick) {
  const button = made("button", "primary rate-action", label);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}
