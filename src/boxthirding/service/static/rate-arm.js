// One arm as raters see it: the pictures, the text, the question, the answers. Nothing in here knows of a server.

const MEDIUM = 90; // characters from which a text is set smaller
const LONG = 360; // characters from which it is set as prose
const FEW = 5; // answers that may stand below each other on a phone

/**
 * Fill a container with one arm. All text is shown as text, whatever it holds.
 *
 * @param {HTMLElement} container what it held before is removed
 * @param {object} shown
 * @param {string} shown.question what raters are asked; may be empty
 * @param {?string} shown.picture the address of the study's picture
 * @param {{text: string, picture: ?string}} shown.arm the arm; its picture is an address too
 * @param {string[]} shown.scale the labels of the answers, 2 to 11
 * @param {function(number): void} [shown.onAnswer] called with the place of the answer that was chosen
 * @returns {{text: HTMLElement, answers: HTMLButtonElement[]}} the text, which can be focused, and the buttons
 */
export function renderArm(container, { question, picture, arm, scale, onAnswer = () => {} }) {
  const text = made("p", "arm-text", arm.text);
  text.dir = "auto";
  text.tabIndex = -1;
  text.dataset.length = length(arm.text);
  const stage = made("div", "arm-stage");
  if (picture) stage.append(pictured(picture, "arm-study-picture", "The picture that the question is about"));
  if (arm.picture) stage.append(pictured(arm.picture, "arm-picture", "The picture to rate"));
  stage.append(text);

  const asked = made("p", "arm-question", question || "Your answer");
  asked.dir = "auto";
  asked.id = `${container.id || "arm"}-question`;
  const keys = keysOf(scale);
  const answers = scale.map((label, place) => answerButton(label, keys[place], () => onAnswer(place)));
  const group = made("div", "arm-answers");
  group.setAttribute("role", "group");
  group.setAttribute("aria-labelledby", asked.id);
  group.style.setProperty("--answers", scale.length);
  group.style.setProperty("--longest", Math.max(...scale.map((label) => label.length)));
  group.style.setProperty("--columns", columns(scale));
  group.append(...answers);
  const panel = made("div", "arm-panel");
  panel.append(asked, group);

  container.classList.add("arm");
  container.replaceChildren(stage, panel);
  return { text, answers };
}

/** Return the key of each answer: its own digit where all are numbers, else its place; null for those that have none. */
export function keysOf(scale) {
  const areNumbers = scale.every((label) => /^\d\d?$/.test(label));
  const keys = scale.map((label, place) => (areNumbers ? label : String(place + 1)));
  return keys.map((key) => (key.length === 1 ? key : null));
}

function answerButton(label, key, onAnswer) {
  const button = made("button", "arm-answer");
  button.type = "button";
  if (key !== null) button.setAttribute("aria-keyshortcuts", key);
  const name = made("span", "arm-answer-label", label);
  name.dir = "auto";
  if (key !== null && key !== label) button.append(keyHint(key));
  button.append(name);
  button.addEventListener("click", onAnswer);
  return button;
}

/** Return a key as it is shown on a button; a screen reader has it from `aria-keyshortcuts`. */
export function keyHint(key) {
  const hint = made("kbd", "key", key);
  hint.setAttribute("aria-hidden", "true");
  return hint;
}

/** Return a new element with a class and a text. */
export function made(tag, className, text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

function pictured(address, className, alternative) {
  const image = made("img", className);
  image.src = address;
  image.alt = alternative;
  return image;
}

/** Return in how many columns many answers stand on a phone, so that the longest word fits. */
function columns(scale) {
  if (scale.length <= FEW) return 1;
  const longest = Math.max(...scale.flatMap((label) => label.split(/\s+/)).map((word) => word.length));
  if (longest <= 3) return Math.ceil(scale.length / 2);
  if (longest <= 8) return 3;
  return longest <= 15 ? 2 : 1;
}

function length(text) {
  if (text.length > LONG) return "long";
  return text.length > MEDIUM ? "medium" : "short";
}
