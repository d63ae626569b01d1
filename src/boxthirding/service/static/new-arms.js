// The arms of a new study: lines of text, a CSV file or pictures.

import { Problem, call, element } from "/static/api.js";
import { said } from "/static/dialogs.js";
import { count as number, counted } from "/static/numbers.js";

const LARGEST = 23_000_000; // bytes of a CSV file: as base64 it must fit into a request
const SHOWN = 5; // rows of a CSV file
const THUMBS = 60;
const PICTURES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const LARGE = 5_000_000; // bytes, beyond which no picture is taken

/** Return what was chosen: `count()`, `samples()` for a preview, `read(progress)` for what a request is made of. */
export function arms(form, onChange) {
  const count = document.getElementById("arms-count");
  const kinds = { lines: lines(changed), sheet: sheet(changed, wrong), pictures: pictures(changed, wrong) };

  function kind() {
    return form.elements.kind.value;
  }

  function show() {
    for (const part of form.querySelectorAll("[data-kind]")) part.hidden = part.dataset.kind !== kind();
    changed();
  }

  function changed() {
    count.replaceChildren(kinds[kind()].said());
    onChange();
  }

  function wrong(problem) {
    count.replaceChildren(said(problem));
    onChange();
  }

  /** A file that is dropped anywhere in the box says of which kind it is. */
  function dropped(files) {
    const images = files.filter((file) => file.type.startsWith("image/"));
    form.elements.kind.value = images.length ? "pictures" : "sheet";
    show();
    if (images.length) kinds.pictures.take(images);
    else if (files.length) kinds.sheet.take(files[0]);
  }

  for (const choice of form.elements.kind) choice.addEventListener("change", show);
  const box = document.getElementById("arms-box");
  box.addEventListener("dragover", (event) => {
    event.preventDefault();
    box.classList.add("over");
  });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    dropped([...event.dataTransfer.files]);
  });
  show();
  return {
    samples: () => kinds[kind()].samples(),
    count: () => kinds[kind()].count(),
    read: (progress) => kinds[kind()].read(progress),
  };
}

function lines(changed) {
  const field = document.getElementById("lines");
  field.addEventListener("input", changed);

  function all() {
    const written = field.value.split("\n").map((line) => line.trim()).filter(Boolean);
    return { written, unique: [...new Set(written)] };
  }

  return {
    samples: () => all().unique.map((text) => ({ text, picture: null })),
    count: () => all().unique.length,
    said() {
      const { written, unique } = all();
      const twice = written.length - unique.length;
      return twice ? `${counted(unique.length, "arm")}; ${counted(twice, "repeated line")} left out.` : `${counted(unique.length, "arm")}.`;
    },
    async read() {
      const { unique } = all();
      if (!unique.length) throw { detail: "there is nothing to rate yet", advice: "write one arm on each line" };
      return { arms: unique };
    },
  };
}

function sheet(changed, wrong) {
  const field = document.getElementById("sheet");
  const shown = document.getElementById("sheet-shown");
  let file = null;
  let read = null;
  let label = null;
  let known = "";
  field.addEventListener("change", () => field.files.length && take(field.files[0]));

  async function take(chosen) {
    file = null;
    read = null;
    shown.replaceChildren();
    try {
      if (chosen.size > LARGEST) throw { detail: `${chosen.name} is larger than 23 MB`, advice: "leave out columns that are not needed" };
      read = await call("POST", "/sheets?rows=20", chosen);
      file = chosen;
      label = read.label;
      known = "";
      show();
      changed();
    } catch (problem) {
      wrong(problem);
    }
  }

  function column(name, value, columns, none, onchange) {
    return element(
      "select",
      { id: name, onchange: (event) => onchange(event.target.value) },
      none === null ? null : element("option", { value: "" }, none),
      columns.map((one) => element("option", { value: one, selected: one === value }, one)),
    );
  }

  function show() {
    const heads = read.columns.map((name) => element("th", { scope: "col", class: name === label ? "chosen" : null }, name));
    const rows = read.rows.slice(0, SHOWN).map((cells) =>
      element("tr", {}, cells.map((cell, place) => element("td", { class: read.columns[place] === label ? "chosen" : null }, cell))),
    );
    shown.replaceChildren(
      element("p", { class: "quiet" }, `${file.name}: ${counted(read.n_rows, "row")}, ${counted(read.columns.length, "column")}.`),
      element("label", { for: "sheet-label" }, "The column that raters see"),
      column("sheet-label", label, read.columns, null, (value) => {
        label = value;
        show();
        changed();
      }),
      read.columns.length > 1 ? element("p", { class: "quiet" }, "The other columns are kept with each arm, and are not shown.") : "",
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The first rows" }, element("table", { class: "sheet" }, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows))),
      element("label", { for: "sheet-known" }, "A column of ratings that are known already ", element("span", { class: "quiet" }, "(optional)")),
      column("sheet-known", known, read.columns, "none", (value) => {
        known = value;
      }),
    );
  }

  return {
    take,
    samples() {
      if (!read) return [];
      const place = read.columns.indexOf(label);
      return read.rows.map((cells) => ({ text: cells[place], picture: null }));
    },
    count: () => read?.n_rows ?? 0,
    said: () => (read ? `${counted(read.n_rows, "arm")}.` : "No file yet."),
    async read() {
      if (!file) throw { detail: "there is nothing to rate yet", advice: "choose a CSV file" };
      return { sheet: { base64: await base64(file), label, known: known || null } };
    },
  };
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject({ detail: `${file.name} cannot be read`, advice: "choose it again" });
    reader.readAsDataURL(file);
  });
}

/** Upload a picture and return its id; what is wrong with it is said of that file. */
export async function uploaded(file) {
  try {
    return (await call("POST", "/pictures", file)).id;
  } catch (problem) {
    if (problem.status !== 413 && problem.status !== 415) throw problem;
    throw new Problem(problem.status, `the picture ${file.name} cannot be used: ${problem.detail}`, problem.advice);
  }
}

function pictures(changed, wrong) {
  const field = document.getElementById("pictures");
  const shown = document.getElementById("pictures-shown");
  const named = document.getElementById("names-shown");
  const chosen = new Map(); // by label: the file and the address of its preview
  field.addEventListener("change", () => {
    take([...field.files]);
    field.value = "";
  });
  named.addEventListener("change", changed);

  function take(files) {
    const large = files.find((file) => file.size > LARGE);
    const other = files.find((file) => !PICTURES.includes(file.type));
    for (const file of files) {
      if (file.size <= LARGE && PICTURES.includes(file.type)) chosen.set(unused(file), { file, address: URL.createObjectURL(file) });
    }
    show();
    if (other) wrong({ detail: `${other.name} is no PNG, JPEG, WebP or GIF`, advice: "save it as one of these, and add it again" });
    else if (large) wrong({ detail: `${large.name} is larger than 5 MB`, advice: "make it smaller, and add it again" });
    else changed();
  }

  /** A label for a file: its name without ending, and a number where that is taken by another file. */
  function unused(file) {
    const plain = file.name.replace(/\.[^.]*$/, "") || file.name;
    let label = plain;
    for (let number = 2; chosen.has(label) && !same(chosen.get(label).file, file); number += 1) label = `${plain} ${number}`;
    return label;
  }

  function same(one, other) {
    return one.name === other.name && one.size === other.size && one.lastModified === other.lastModified;
  }

  function show() {
    shown.replaceChildren(
      ...[...chosen].slice(0, THUMBS).map(([label, { address }]) =>
        element(
          "li",
          {},
          element("img", { src: address, alt: label, loading: "lazy" }),
          element("button", { type: "button", "aria-label": `Remove ${label}`, title: `Remove ${label}`, onclick: () => remove(label) }, "×"),
        ),
      ),
      chosen.size > THUMBS ? element("li", { class: "quiet" }, `and ${number(chosen.size - THUMBS)} more`) : "",
    );
  }

  function remove(label) {
    URL.revokeObjectURL(chosen.get(label).address);
    chosen.delete(label);
    show();
    changed();
  }

  return {
    take,
    samples: () => [...chosen].map(([label, { address }]) => ({ text: named.checked ? label : "", picture: address })),
    count: () => chosen.size,
    said: () => `${counted(chosen.size, "picture")}.`,
    async read(progress) {
      if (!chosen.size) throw { detail: "there is nothing to rate yet", advice: "choose pictures" };
      const made = [];
      for (const [label, { file }] of chosen) {
        progress(`Uploading picture ${number(made.length + 1)} of ${number(chosen.size)} …`);
        made.push({ label, text: named.checked ? label : "", picture: await uploaded(file) });
      }
      return { arms: made };
    },
  };
}
