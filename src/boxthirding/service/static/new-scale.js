// The answers of a scale and the rewards that they stand for: presets, or answers of one's own.

import { element } from "/static/api.js";
import { count, typed } from "/static/numbers.js";

const MOST = 11;

function numbers(first, last) {
  return Array.from({ length: last - first + 1 }, (_, place) => ({ label: String(first + place), reward: first + place }));
}

const PRESETS = {
  funny: ["Unfunny to funny, 3 levels", [{ label: "unfunny", reward: 0 }, { label: "somewhat funny", reward: 0.5 }, { label: "funny", reward: 1 }]],
  yes: ["No or yes", [{ label: "no", reward: 0 }, { label: "yes", reward: 1 }]],
  five: ["1 to 5", numbers(1, 5)],
  ten: ["0 to 10", numbers(0, 10)],
};

/** Let a select and a place for rows be an editor of a scale; return what reads it. */
export function scaleEditor(select, place, onChange) {
  let answers = copied("funny");
  select.append(
    ...Object.entries(PRESETS).map(([name, [text]]) => element("option", { value: name }, text)),
    element("option", { value: "own" }, "Your own answers"),
  );
  select.addEventListener("change", () => {
    if (select.value !== "own") answers = copied(select.value);
    show();
    onChange();
  });

  function copied(name) {
    return PRESETS[name][1].map((answer) => ({ ...answer }));
  }

  function show() {
    if (select.value !== "own") {
      place.replaceChildren();
      return;
    }
    place.replaceChildren(
      element("p", { class: "quiet" }, "From the lowest to the highest. The reward is the number that an answer counts as."),
      element("div", { class: "scale-rows" }, answers.map(row)),
      element("button", { type: "button", disabled: answers.length >= MOST, onclick: add }, "Add an answer"),
    );
  }

  function row(answer, at) {
    return element(
      "div",
      { class: "scale-row" },
      element("input", {
        type: "text",
        maxlength: 100,
        value: answer.label,
        "aria-label": `Answer ${count(at + 1)}`,
        oninput: (event) => {
          answer.label = event.target.value;
          onChange();
        },
      }),
      element("input", {
        type: "text",
        inputmode: "decimal",
        value: typeof answer.reward === "number" ? typed(answer.reward) : answer.reward,
        "aria-label": `Reward of answer ${count(at + 1)}`,
        oninput: (event) => {
          answer.reward = event.target.value;
          onChange();
        },
      }),
      element("button", { type: "button", "aria-label": `Remove answer ${count(at + 1)}`, disabled: answers.length <= 2, onclick: () => remove(at) }, "×"),
    );
  }

  function add() {
    const rewards = answers.map((answer) => number(answer.reward)).filter(Number.isFinite);
    answers.push({ label: "", reward: Math.max(...rewards, 0) + 1 });
    show();
    onChange();
    place.querySelector(".scale-row:last-child input").focus();
  }

  function remove(at) {
    answers.splice(at, 1);
    show();
    onChange();
  }

  show();
  return {
    labels: () => answers.map((answer) => answer.label),
    rewards: () => answers.map((answer) => number(answer.reward)),
    read() {
      return answers.map((answer) => {
        const reward = number(answer.reward);
        if (!answer.label.trim()) throw { detail: "an answer has no text", advice: "write one, or remove the answer" };
        if (!Number.isFinite(reward)) throw { detail: `the reward of “${answer.label}” is “${answer.reward}”`, advice: "write a number" };
        return { label: answer.label.trim(), reward };
      });
    },
  };
}

/** Read a number with a decimal point or comma. */
function number(text) {
  const plain = String(text).trim().replace(",", ".");
  return plain === "" ? Number.NaN : Number(plain);
}
