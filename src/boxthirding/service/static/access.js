// Who gets in: rating links for people, keys for programs; and what raters see.

import { call, element } from "/static/api.js";
import { address, whole, wholeOrNone } from "/static/checks.js";
import { ask, note, said } from "/static/dialogs.js";
import { linkCard, secretField } from "/static/link-card.js";
import { ago, count, counted, date, typed } from "/static/numbers.js";
import { table } from "/static/tables.js";

const DAY = 86_400;
const DAYS = 36_000; // at most
const RATINGS = 100_000; // of one rater, at most
const SCOPES = { reader: "read only", worker: "ask and tell: a program that rates", operator: "everything, as you can" };

export function start(section, study) {
  if (!study.isOperator) {
    section.hidden = true;
    return;
  }
  const links = table("Rating links", [
    { name: "Link", cell: (link) => [link.name || `made ${date(link.made)}`, ...expiry(link), link.signed ? [" ", badge("signed ids only")] : ""] },
    { name: "Raters", number: true, cell: (link) => `${count(link.started)} of ${count(link.raters)}` },
    { name: "Made", cell: (link) => element("span", { class: "when" }, ago(link.made)) },
    { name: "", cell: (link) => revoke("Revoke", () => revokeLink(link)) },
  ], (link) => link.id);
  const keys = table("Keys", [
    { name: "Key", cell: (key) => [key.name || key.id, ...expiry(key), key.id === study.key.id ? [" ", badge("yours")] : ""] },
    { name: "May", cell: (key) => SCOPES[key.scope] },
    { name: "Of", cell: (key) => key.study ?? "all studies" },
    { name: "Made", cell: (key) => element("span", { class: "when" }, ago(key.made)) },
    { name: "", cell: (key) => revoke("Revoke", () => revokeKey(key)) },
  ], (key) => key.id);
  const wrong = element("div");
  const noLinks = element("p", { class: "quiet" }, "No rating link: no one can rate yet.");
  section.replaceChildren(
    element("div", { class: "head" }, element("h2", { id: "share-title" }, "Share"), element("div", { class: "tools" }, element("button", { type: "button", onclick: edit }, "What raters see"))),
    wrong,
    element(
      "div",
      { class: "pair" },
      part("Rating links", "Raters come by a link. Its address is shown once, when it is made.", "New link", newLink, [noLinks, links.element]),
      part("Keys", "Programs and other operators come with a key.", "New key", newKey, [keys.element]),
    ),
  );

  function part(title, text, verb, onclick, content) {
    return element(
      "div",
      { class: "card" },
      element("div", { class: "head" }, element("div", {}, element("h3", {}, title), element("p", { class: "quiet" }, text)), element("button", { type: "button", onclick }, verb)),
      content,
    );
  }

  function revoke(text, onclick) {
    return element("button", { type: "button", class: "small danger", onclick }, text);
  }

  function newLink() {
    const name = field("link-name", "What it is for", { maxlength: 200, placeholder: "mailing list" });
    const raters = field("link-raters", "How many raters may start with it (1: for one person)", { type: "number", min: 1, value: 10000 });
    const days = field("link-days", "Days until it expires (empty: never)", { type: "number", min: 1, max: DAYS });
    const signed = element("input", { type: "checkbox", id: "link-signed" });
    ask({
      title: "New rating link",
      content: [...name, ...raters, ...days, element("label", { class: "check" }, signed, "Only for raters with an id that you sign")],
      yes: "Make the link",
      act: async () => {
        const body = { name: name[1].value.trim(), raters: whole(raters[1], "the number of raters"), signed: signed.checked };
        const until = wholeOrNone(days[1], "the number of days", DAYS);
        if (until !== null) body.seconds = until * DAY;
        const link = await study.call("POST", "/links", body);
        await refresh();
        ask({ title: "The new rating link", content: [linkCard(link), link.signed ? signing(link) : null] });
      },
    });
  }

  /** Addresses for raters whose ids are signed. */
  function signing(link) {
    const [label, ids] = field("signed-ids", "Ids of your raters, one on each line", {}, "textarea");
    const made = element("div");
    const sign = element("button", { type: "button" }, "Make their addresses");
    sign.addEventListener("click", async () => {
      try {
        const listed = [...new Set(ids.value.split("\n").map((line) => line.trim()).filter(Boolean))];
        const { signatures } = await study.call("POST", `/links/${link.id}/signatures`, { ids: listed });
        const lines = signatures.map(({ id, signature }) => `${link.url}?${new URLSearchParams({ id, signature })}`);
        made.replaceChildren(element("textarea", { rows: 6, readonly: true, "aria-label": "Addresses, one for each id", value: lines.join("\n") }));
      } catch (problem) {
        made.replaceChildren(said(problem));
      }
    });
    return element("div", {}, label, ids, sign, made);
  }

  function newKey() {
    const name = field("key-name", "What it is for", { maxlength: 200, placeholder: "the cluster" });
    const scope = element("select", { id: "key-scope" }, Object.entries(SCOPES).map(([value, text]) => element("option", { value }, `${value}: ${text}`)));
    const isOwner = study.key.study === null;
    const of = element("select", { id: "key-of" }, element("option", { value: study.name }, `this study, ${study.name}`), isOwner ? element("option", { value: "" }, "all studies") : null);
    const days = field("key-days", "Days until it expires (empty: never)", { type: "number", min: 1, max: DAYS });
    ask({
      title: "New key",
      content: [...name, element("label", { for: "key-scope" }, "What it may do"), scope, element("label", { for: "key-of" }, "Of which studies"), of, ...days],
      yes: "Make the key",
      act: async () => {
        const body = { name: name[1].value.trim(), scope: scope.value, study: of.value || null };
        const until = wholeOrNone(days[1], "the number of days", DAYS);
        if (until !== null) body.seconds = until * DAY;
        const { secret } = await call("POST", "/keys", body);
        await refresh();
        ask({
          title: "The new key",
          content: [element("p", {}, "Keep it in a safe place: ", element("strong", {}, "it is shown this once"), ", and only its hash is stored."), secretField("Key", secret)],
        });
      },
    });
  }

  function revokeLink(link) {
    ask({
      title: "Revoke this link?",
      content: [element("p", {}, `Its ${counted(link.started, "rater")} can no longer rate. Their ratings stay.`)],
      yes: "Revoke",
      danger: true,
      act: async () => {
        await study.call("DELETE", `/links/${link.id}`);
        await refresh();
      },
    });
  }

  function revokeKey(key) {
    const isMine = key.id === study.key.id;
    ask({
      title: isMine ? "Revoke your own key?" : "Revoke this key?",
      content: [element("p", {}, isMine ? "You are signed in with it: you will be signed out at once, and need another key to come back." : "Programs that use it are no longer let in.")],
      yes: "Revoke",
      danger: true,
      typed: isMine ? "revoke" : null,
      act: async () => {
        await call("DELETE", `/keys/${key.id}`);
        await refresh();
      },
    });
  }

  /** Change what raters see. */
  function edit() {
    const about = study.view.about;
    const fields = {
      question: field("edit-question", "Question", { maxlength: 500, value: about.question }),
      description: field("edit-description", "Description", { rows: 2, maxlength: 3000, value: about.description }, "textarea"),
      instructions: field("edit-instructions", "Instructions before the first rating", { rows: 3, maxlength: 3000, value: about.instructions }, "textarea"),
      consent: field("edit-consent", "Consent that raters give first", { rows: 3, maxlength: 3000, value: about.consent }, "textarea"),
      thanks: field("edit-thanks", "Thanks at the end", { maxlength: 1000, value: about.thanks }),
      completion: field("edit-completion", "Where raters go at the end", { type: "url", maxlength: 500, placeholder: "https://…", value: about.completion ?? "" }),
    };
    const answers = about.scale.map(({ label, reward }, place) => field(`edit-answer-${place}`, `The answer that counts as ${typed(reward)}`, { maxlength: 100, required: true, value: label }));
    const stays = "Answers can have other words at any time. What they count as cannot be changed once there are ratings.";
    const sitting = field("edit-sitting", "Ratings of one rater, at most (empty: no limit)", { type: "number", min: 1, max: RATINGS, value: about.sitting ?? "" });
    const repeats = element("input", { type: "checkbox", checked: about.repeats });
    ask({
      title: "What raters see",
      content: [...Object.values(fields).flat(), ...answers.flat(), answers.length ? element("p", { class: "quiet" }, stays) : null, ...sitting, element("label", { class: "check" }, repeats, "A rater may be shown an arm more than once")],
      yes: "Save",
      act: async () => {
        const body = Object.fromEntries(Object.entries(fields).map(([name, [, input]]) => [name, input.value.trim()]));
        body.completion = address(fields.completion[1], "the address where raters go at the end");
        body.sitting = wholeOrNone(sitting[1], "the number of ratings of one rater", RATINGS) ?? 0;
        body.repeats = repeats.checked;
        if (answers.length) body.scale = answers.map(([, input], place) => ({ label: input.value.trim(), reward: about.scale[place].reward }));
        await study.call("PATCH", "?brief=true", body);
        await study.refresh();
        note("Saved. Raters see it from now on.");
      },
    });
  }

  async function refresh() {
    try {
      const [found, held] = await Promise.all([study.call("GET", "/links"), call("GET", "/keys")]);
      links.show(found.links);
      links.element.hidden = !found.links.length;
      noLinks.hidden = Boolean(found.links.length);
      keys.show(held.keys.filter((key) => key.study === null || key.study === study.name));
      wrong.replaceChildren();
    } catch (problem) {
      if (problem.status) wrong.replaceChildren(said(problem));
    }
  }

  let raters = -1;
  study.onChange((view) => {
    const now = view.n_holders;
    if (now !== raters) refresh(); // a rater has come: a link has one more
    raters = now;
  });
  refresh();
}

function badge(text) {
  return element("span", { class: "badge" }, text);
}

function expiry({ expires }) {
  if (expires === null) return [];
  return [" ", badge(expires * 1000 < Date.now() ? "expired" : `until ${date(expires)}`), " "];
}

function field(id, label, attributes, tag = "input") {
  return [element("label", { for: id }, label), element(tag, { id, ...(tag === "input" ? { type: "text" } : {}), ...attributes })];
}
