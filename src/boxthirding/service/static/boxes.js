// The arms of a study, as they move. Boxes: levels upwards, deferments across, piles of the discarded. Where the
// policy has no boxes, a ladder: the more ratings arms have, the higher they stand.

import { API, call, element, studyPath, query } from "/static/api.js";
import { boundsOn, colour, gradient, share, writer } from "/static/colours.js";
import { ask, said } from "/static/dialogs.js";
import { Kept, arrange, focusKept } from "/static/keep-elements.js";
import { Motion } from "/static/arm-motion.js";
import { count, counted, mean } from "/static/numbers.js";
import { follow } from "/static/tables.js";
import { Tip } from "/static/arm-tip.js";

const CAPTION = "Three arms meet in a box. The best is lifted and rated more, the middle waits, the worst is dropped.";
const ANEW = " The number on a card is the mean of the ratings at its level; the answer and the table of arms have that of all ratings.";
const LADDER = "The higher an arm stands, the more ratings it has.";
const CHASE = "A new arm is rated once. While an arm keeps up with the leader, it is rated more and climbs; the others stay where they are. The best also meet in a final, so an arm that does not keep up may climb too.";
const STANDING = { leads: ", the answer now", "keeps up": ", keeps up with the leader" };
const PAGE = 50;
const MOVES = 3; // that are named
const LONG = 280; // letters, from which on a text is shortened even where it may wrap

export function start(section, study) {
  const legend = element("div", { class: "legend", role: "img", "aria-label": "The colour of an arm is its mean.", hidden: true });
  const caption = element("p", { class: "quiet caption" });
  const moves = element("p", { class: "quiet moves" });
  const board = element("div", { class: "board" });
  const tip = new Tip(section);
  const title = element("h2", { id: "boxes-title" }, "The ladder");
  section.replaceChildren(
    element("div", { class: "section-head" }, title, legend),
    caption,
    board,
    moves,
  );
  const opened = new Set();
  const cards = new Kept(); // by place and key
  const parts = new Kept(); // rows, boxes and buttons
  const motion = new Motion(board);
  let written = mean; // what writes a mean on a card
  let before = null;
  let isBusy = false;
  let isDue = false;

  async function look() {
    if (isBusy) {
      isDue = true;
      return;
    }
    isBusy = true;
    isDue = false;
    try {
      show(await study.call("GET", `/grid${query({ open: [...opened].join(",") })}`));
    } catch (problem) {
      if (problem.status && problem.status !== 404) moves.replaceChildren(said(problem));
    } finally {
      isBusy = false;
      if (isDue) look();
    }
  }

  function show(grid) {
    named(grid.boxed ? "The boxes" : "The ladder");
    caption.textContent = grid.boxed ? CAPTION + (grid.anew ? ANEW : "") : climbing(grid);
    const boxed = grid.levels.flatMap((level) => level.boxes.flatMap((box) => box.arms));
    const arms = [...boxed, ...grid.ladder.flatMap((rung) => rung.arms)];
    const paint = painter(arms, grid.direction === "minimize");
    if (before !== null && (grid.seq < before.seq || grid.boxed !== before.boxed)) { // another study of the same name, or another policy
      moves.textContent = "";
      before = null;
    }
    const moved = before === null ? [] : grid.boxed ? changes(before, grid) : climbs(before, grid);
    const rects = motion.measure(cards);
    draw(grid, paint);
    tip.renew();
    if (before !== null) motion.play(cards, rects, moved);
    if (moved.length) moves.textContent = `Just now: ${moved.slice(0, MOVES).map(inWords).join("; ")}${moved.length > MOVES ? `; and ${count(moved.length - MOVES)} more` : ""}.`;
    before = grid;
  }

  /** Name this part, here and in the links at the top. */
  function named(text) {
    if (title.textContent === text) return;
    title.textContent = text;
    const link = document.querySelector('nav a[href="#boxes"]');
    if (link) link.textContent = text.replace("The ", "").replace(/^./, (letter) => letter.toUpperCase());
  }

  /** What turns a mean into a colour; the legend says which. */
  function painter(arms, isLowBetter) {
    legend.hidden = arms.length === 0;
    if (arms.length === 0) return () => colour(0.5);
    const range = boundsOn(study.view.about.scale, arms.map((arm) => arm.mean));
    written = writer(range, 50);
    const ends = isLowBetter ? [range[1], range[0]] : range;
    if (legend.dataset.ends !== ends.join()) {
      legend.dataset.ends = ends.join();
      const ramp = element("span", { class: "ramp" });
      ramp.style.background = gradient();
      legend.replaceChildren(element("span", {}, `Mean ${written(ends[0])}`), ramp, element("span", {}, `${written(ends[1])}, better`));
      legend.setAttribute("aria-label", `The colour of an arm is its mean: from dark blue, ${written(ends[0])}, to yellow, ${written(ends[1])}, which is better.`);
    }
    return (value) => colour(share(value, range, isLowBetter));
  }

  function draw(grid, paint) {
    const columns = Math.max(0, ...grid.levels.flatMap((level) => level.boxes.map((box) => box.deferment))) + 1;
    board.style.setProperty("--columns", widths(grid.levels, columns));
    board.dataset.seq = grid.seq;
    focusKept(board, () => {
      arrange(
        board,
        grid.levels.length > 0 && headings(columns),
        grid.levels.map((level) => levelRow(level, columns, grid, paint)),
        grid.ladder.map((rung) => rungRow(rung, grid, paint)),
        pool(grid),
      );
    });
    cards.sweep();
    parts.sweep();
    rove();
  }

  /** A part of the board: the same element as before. */
  function part(name, tag, attributes, ...children) {
    return parts.of(name, () => element(tag, attributes, ...children));
  }

  function headings(columns) {
    const texts = ["Level", ...Array.from({ length: columns }, (_, place) => waitedText(place)), "dropped"];
    return part(`headings ${columns}`, "div", { class: "row head-row", "aria-hidden": "true" }, texts.map((text) => element("span", {}, text)));
  }

  function levelRow(level, columns, grid, paint) {
    const name = `Level ${count(level.level)}`;
    const rated = ratings(level.pulls);
    const cells = Array.from({ length: columns }, (_, place) => {
      const box = level.boxes.find((one) => one.deferment === place) ?? { deferment: place, size: 0, arms: [], rest: [] };
      return cell(level, box, grid, paint);
    });
    const row = part(`row ${level.level}`, "div", { role: "group", "data-row": level.level });
    row.className = level.open ? "row" : "row closed";
    row.setAttribute("aria-label", `${name}${rated ? `, ${rated}` : ""}`);
    return arrange(row, levelName(level, name, rated), cells, pile(level));
  }

  function levelName({ level, upper, open }, name, rated) {
    const texts = () => [element("strong"), element("span", { class: "quiet" })];
    const head = upper
      ? part(`name ${level}`, "div", { class: "level-name" }, texts())
      : part(`toggle ${level}`, "button", { type: "button", class: "level-name", "data-level": level, onclick: () => toggle(level) }, texts());
    if (!upper) head.setAttribute("aria-expanded", String(open));
    head.firstChild.textContent = upper ? name : `${name} ${open ? "▾" : "▸"}`;
    head.lastChild.textContent = rated;
    return head;
  }

  function pile({ level, pile: size }) {
    const made = part(
      `pile ${level}`,
      "button",
      { type: "button", class: "pile", "data-pile": level, onclick: () => list(`Dropped at level ${count(level)}`, { level: String(level), deferment: "pile" }) },
      element("span", { class: "amount" }),
      element("span", { class: "pile-word" }, "dropped"),
    );
    made.disabled = size === 0;
    made.setAttribute("aria-label", `${counted(size, "arm")} dropped at level ${count(level)}`);
    made.firstChild.textContent = count(size);
    return made;
  }

  function cell({ level, open }, box, grid, paint) {
    const waited = waitedText(box.deferment);
    const name = `${level}-${box.deferment}`;
    const made = part(`box ${name}`, "div", { "data-box": name });
    made.className = box.size ? "box" : "box empty";
    const word = box.size > 0 && part(`word ${name}`, "span", { class: "box-word" }, waited);
    if (!open) return arrange(made, box.size > 0 && amount(name, box.size, waited), word);
    const seated = arrange(part(`seated ${name}`, "div", { class: "seated" }), box.arms.map((arm) => card(arm, "", grid, paint)));
    return arrange(made, word, seated, more(name, box.size - box.arms.length, () => list(`Level ${count(level)}, ${waited}`, { level: String(level), deferment: String(box.deferment) })));
  }

  function amount(name, size, waited) {
    const made = part(`amount ${name}`, "span", { class: "amount" }, element("span"), element("span", { class: "unseen" }, ` ${waited}`));
    made.firstChild.textContent = count(size);
    return made;
  }

  function more(name, rest, onclick) {
    if (rest <= 0) return null;
    const made = part(`more ${name}`, "button", { type: "button", class: "more", onclick });
    made.textContent = `+ ${count(rest)} more`;
    return made;
  }

  function rungRow(rung, grid, paint) {
    const { fewest, size, arms, keep_up: keepUp } = rung;
    const rated = ratings([rung.fewest, rung.most]);
    const made = part(
      `rung ${fewest}–${rung.most}`, // empty rungs next to each other are one
      "div",
      { role: "group", "data-rung": fewest, "aria-label": rated },
      element("strong", { class: "rung-name" }, rated),
      element("button", { type: "button", class: "rung-size", onclick: () => list(rated, { pulls: String(fewest) }) }, element("span", { class: "amount" }), element("span", { class: "standing" })),
      element("div", { class: "climbers" }),
    );
    made.className = size ? "rung" : "rung empty";
    const [, head, cards] = made.children;
    head.disabled = size === 0;
    head.firstChild.textContent = size ? counted(size, "arm") : "no arm";
    const leads = arms[0]?.standing === "leads";
    head.lastChild.textContent = [leads && "★ the leader", keepUp > 0 && `▲ ${count(keepUp)} ${keepUp === 1 ? "keeps" : "keep"} up`].filter(Boolean).join(", ");
    arrange(cards, arms.map((arm) => card(arm, "", grid, paint)));
    return made;
  }

  function pool({ arms, tried, untried, levels, ladder, boxed }) {
    const made = part("pool", "div", { class: "pool", "data-pool": "" });
    if (untried === null) {
      made.replaceChildren(element("span", {}, element("strong", {}, "More arms come in as they are needed"), ` · ${count(tried)} tried`));
      return made;
    }
    const bar = element("span", { class: "pool-bar", "aria-hidden": "true" }, element("span", {}));
    bar.firstChild.style.width = `${arms ? (100 * (arms - untried)) / arms : 0}%`;
    const text = untried ? `${count(untried)} of ${counted(arms, "arm")}, not tried yet` : `none, as all ${counted(arms, "arm")} were tried`;
    const hint = levels.length + ladder.length === 0 ? ` The first ratings put arms ${boxed ? "into the boxes" : "on the ladder"}.` : "";
    made.replaceChildren(element("span", {}, element("strong", {}, "Waiting outside"), `: ${text}.${hint}`), bar);
    return made;
  }

  /** The card of an arm: the same element as before, wherever it stands now. */
  function card(arm, place, grid, paint) {
    const name = place + arm.key;
    const one = cards.of(name, () => {
      const made = element("button", { type: "button", class: "arm", "data-place": name, tabindex: "-1" }, thumb(arm), element("span", { class: "value" }), element("span", { class: "words" }), element("span", { class: "whole" }));
      tip.attach(made, () => [face(made.arm), element("span", { class: "quiet" }, made.told)]);
      return made;
    });
    one.arm = arm;
    one.isAnswer = arm.key === grid.answer;
    const keepsUp = arm.standing === "keeps up";
    one.classList.toggle("is-answer", one.isAnswer);
    one.classList.toggle("keeps-up", keepsUp);
    one.told = `mean ${written(arm.mean)}, ${counted(arm.pulls, "rating")}${one.isAnswer ? STANDING.leads : (STANDING[arm.standing] ?? "")}`;
    one.setAttribute("aria-label", `${arm.text}: ${one.told}`);
    one.querySelector(".value").textContent = (one.isAnswer ? "★ " : keepsUp ? "▲ " : "") + written(arm.mean);
    one.querySelector(".words").textContent = arm.name;
    one.lastChild.textContent = arm.text.length > LONG ? arm.name : arm.text;
    const { paint: background, ink } = paint(arm.mean);
    one.style.background = background;
    one.style.color = ink;
    return one;
  }

  /** One stop of the Tab key for all cards; arrows go from one to the next. */
  function rove() {
    const all = [...board.querySelectorAll(".arm")];
    const stop = all.includes(document.activeElement) ? document.activeElement : all[0];
    for (const one of all) one.tabIndex = one === stop ? 0 : -1;
  }
  board.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.classList.contains("arm")) return;
    event.preventDefault();
    const all = [...board.querySelectorAll(".arm")].filter((one) => one.checkVisibility()); // a narrow screen shows fewer
    const next = all[all.indexOf(event.target) + step];
    if (next) {
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
  });

  function toggle(level) {
    if (!opened.delete(level)) opened.add(level);
    look();
  }

  /** Show the arms of a box, pile or rung in a dialog, by pages. */
  function list(title, which) {
    const rows = element("ol", { class: "members" });
    const more = element("button", { type: "button" }, "Show more");
    let first = 0;
    async function next() {
      more.disabled = true;
      try {
        const page = await call("GET", `${studyPath(study.name)}/box${query({ ...which, first: String(first), count: String(PAGE) })}`);
        first += page.arms.length;
        rows.append(...page.arms.map((arm) => element("li", {}, face(arm), element("span", { class: "quiet" }, `mean ${mean(arm.mean)}, ${counted(arm.pulls, "rating")}${STANDING[arm.standing] ?? ""}`))));
        more.hidden = first >= page.size || page.arms.length === 0;
        more.disabled = false;
      } catch (problem) {
        rows.append(element("li", {}, said(problem)));
      }
    }
    more.addEventListener("click", next);
    ask({ title, content: [rows, more] });
    next();
  }

  return follow(section, study, look, 0);
}

/** What there is to see on a ladder. */
function climbing({ ladder, untried }) {
  if (!ladder.length || ladder[0].keep_up === null) return LADDER;
  if (untried === 0) return `${LADDER} Every arm has been tried, so all are in the final: those that could still be the best are rated in turn.`;
  return CHASE;
}

function waitedText(deferment) {
  return deferment === 0 ? "new here" : `waited ${count(deferment)}×`;
}

/** How wide the columns are: one without an arm that is shown is narrow, one with many is wide. */
function widths(levels, columns) {
  const most = Array.from({ length: columns }, () => 0);
  for (const { boxes, open } of levels) {
    for (const { deferment, arms, size } of boxes) most[deferment] = Math.max(most[deferment], open ? arms.length : size ? 0.5 : 0);
  }
  return most.map((seats) => `minmax(${seats >= 1 ? 5 : 3}rem, ${seats > 3 ? 2 : seats >= 1 ? 1 : 0.3}fr)`).join(" ");
}

/** How often the arms of a level were rated. */
function ratings(pulls) {
  if (pulls === null) return "";
  const [fewest, most] = pulls;
  return fewest === most ? counted(most, "rating") : `${count(fewest)}–${count(most)} ratings`;
}

function thumb(arm) {
  return arm.picture === null ? null : element("img", { src: `${API}/pictures/${arm.picture}`, alt: "", loading: "lazy" });
}

function face(arm) {
  return element("span", { class: "face" }, thumb(arm), arm.text);
}

/** Where each arm of the open levels stands, by its key; `name` is that of an arm with a card. */
function places(grid) {
  const found = new Map();
  for (const { level, boxes } of grid.levels) {
    for (const { deferment, arms, rest } of boxes) {
      for (const { key, name } of arms) found.set(key, { level, deferment, name });
      for (const key of rest) found.set(key, { level, deferment });
    }
  }
  return found;
}

/** What became of arms between two grids: lifted, shifted or dropped, as far as both show it. */
function changes(before, after) {
  const [was, is] = [places(before), places(after)];
  const wasOpen = new Set(before.levels.filter(({ open }) => open).map(({ level }) => level));
  const isOpen = new Set(after.levels.filter(({ open }) => open).map(({ level }) => level));
  const wasThere = new Set(before.levels.map(({ level }) => level));
  const found = [];
  for (const [key, now] of is) {
    const then = was.get(key);
    const name = now.name ?? then?.name;
    if (name === undefined) continue;
    if (then === undefined) {
      if (wasOpen.has(now.level) || !wasThere.has(now.level)) found.push({ key, kind: "lifted", ...now, name });
    } else if (now.level > then.level) found.push({ key, kind: "lifted", ...now, name });
    else if (now.level === then.level && now.deferment > then.deferment) found.push({ key, kind: "shifted", ...now, name });
  }
  const isAllKnown = after.levels.every(({ open, boxes }) => !open || boxes.every(({ size, arms, rest }) => size === arms.length + rest.length));
  if (isAllKnown) {
    for (const [key, then] of was) {
      if (!is.has(key) && then.name !== undefined && isOpen.has(then.level)) found.push({ key, kind: "dropped", ...then });
    }
  }
  return found;
}

/** Which arms have climbed between two ladders, as far as both show them, and whether another one leads now. */
function climbs(before, after) {
  const was = new Map(before.ladder.flatMap((rung) => rung.arms.map(({ key }) => [key, rung.fewest])));
  const found = [];
  for (const rung of after.ladder) {
    for (const { key, name } of rung.arms) {
      if (key === after.answer && before.answer !== null && key !== before.answer) found.push({ key, kind: "leads", name });
      else if (was.get(key) < rung.fewest) found.push({ key, kind: "climbed", name, rated: ratings([rung.fewest, rung.most]) });
    }
  }
  return found;
}

function inWords({ kind, name, level, rated }) {
  if (kind === "leads") return `“${name}” leads now`;
  if (kind === "climbed") return `“${name}” has climbed to ${rated}`;
  if (kind === "lifted") return `“${name}” was lifted to level ${count(level)}`;
  if (kind === "shifted") return `“${name}” waits at level ${count(level)}`;
  return `“${name}” was dropped at level ${count(level)}`;
}
