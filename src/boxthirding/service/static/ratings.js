// Ratings in a list, each with a way to correct it.

import { element } from "/static/api.js";
import { note, said } from "/static/dialogs.js";
import { value } from "/static/numbers.js";
import { holderName } from "/static/raters.js";

/**
 * A list of ratings { ticket, holder, reward, answer, counts }; where `counts` is false it is struck out. What
 * `before(rating)` returns stands before one. changed(rating) is called when one was corrected: the list is to be made anew.
 */
export function ratings(study, rows, changed, before = () => null) {
  function told(rating, row) {
    return [
      element("div", {}, before(rating), element("span", { class: "told" }, rating.answer ?? value(rating.reward)), " ", element("span", { class: "quiet" }, rating.holder ? "by " : "", holderName(rating.holder), rating.counts === false ? ", does not count" : "")),
      study.isOperator && rating.ticket !== null && study.view.status !== "finished"
        ? element("button", { type: "button", class: "small", onclick: () => correct(rating, row) }, "Correct")
        : "",
    ];
  }

  /** Let the operator choose another answer in the place of a rating. */
  function correct(rating, row) {
    const { scale } = study.view.about;
    const field = scale.length
      ? element("select", { "aria-label": "The right answer" }, scale.map((answer) => element("option", { value: answer.reward, selected: answer.reward === rating.reward }, answer.label)))
      : element("input", { type: "number", step: "any", value: rating.reward, "aria-label": "The right reward" });
    const save = element("button", { type: "button", class: "small primary" }, "Save");
    const wrong = element("div", {});
    save.addEventListener("click", async () => {
      save.disabled = true;
      try {
        if (field.value === "") throw { detail: "there is no number yet", advice: "write the right reward" };
        await study.call("POST", "/corrections", { ticket: rating.ticket, reward: Number(field.value) });
        note("Corrected.");
        await study.refresh();
        await changed(rating);
      } catch (problem) {
        save.disabled = false;
        wrong.replaceChildren(said(problem));
      }
    });
    row.replaceChildren(element("div", {}, before(rating), field, wrong), save);
    row.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // the dialog stays open
      row.onkeydown = null;
      row.replaceChildren(...told(rating, row));
      row.querySelector("button").focus();
    };
    field.focus();
  }

  return element(
    "ul",
    { class: "ratings" },
    rows.map((rating) => {
      const row = element("li", { class: rating.counts === false ? "out" : null, "data-ticket": rating.ticket });
      row.append(...told(rating, row));
      return row;
    }),
  );
}
