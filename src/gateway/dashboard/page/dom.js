// Makes what is shown. Texts become text nodes: nothing that came over the wire is read as markup.

/** An element. Attributes that are false, null or undefined are left out; functions are listeners. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child != null));
  return element;
}

/** Something to be read instead of what was looked for: loading, empty or failed. */
export function notice(kind, text, ...more) {
  const shape = { loading: "…", empty: "○", failed: "▲" }[kind];
  const role = kind === "failed" ? "alert" : "status";
  return h("p", { class: `notice ${kind}`, role },
    h("span", { class: "shape", "aria-hidden": "true" }, shape), ` ${text} `, ...more);
}

/** Stands where nothing tells any more. */
export const unknown = () => h("small", {}, "not known");

const SHAPES = {
  "queued": "○", "running": "▶", "waiting": "◔", "awaiting approval": "?", "cancelling": "⊖",
  "orphaned": "!", "ok": "✓", "done": "✓", "failed": "✗", "cancelled": "⊘",
  "closed": "●", "half-open": "◐", "open": "○", "throttled": "◔",
};

/** A state: its word behind its shape, so that colour says nothing alone. */
export function state(word) {
  const kind = word.startsWith("done ") ? (word === "done ok" ? "ok" : "failed") : word;
  return h("span", { class: "state", "data-state": kind.replaceAll(" ", "-") },
    h("span", { class: "shape", "aria-hidden": "true" }, SHAPES[kind] ?? "•"), ` ${word}`);
}

/** Milliseconds as people read them. */
export function time(ms) {
  if (ms == null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} m` : `${Math.floor(hours / 24)} d`;
}

/** A moment, to the millisecond. */
export function moment(ms) {
  if (ms == null) return "";
  const text = new Date(ms).toISOString();
  return h("time", { datetime: text }, text.replace("T", " ").replace("Z", " UTC"));
}

/** A table with the given columns, each a label or [label, class]. */
export function table(caption, columns) {
  const named = columns.map((column) => (Array.isArray(column) ? column : [column, ""]));
  const body = h("tbody");
  const element = h("table", {},
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, named.map(([label, kind]) => h("th", { scope: "col", class: kind }, label)))),
    body);
  return { element, body, columns: named };
}

/**
 * Makes the rows of a table be these, keeping those that are there, so that nothing loses the
 * focus. A cell is a text, or {key, make}: it is made anew when its key changes.
 */
export function fill({ body, columns }, items, keyOf, cellsOf) {
  const known = new Map([...body.children].map((row) => [row.dataset.key, row]));
  const rows = items.map((item) => {
    const key = keyOf(item);
    const row = known.get(key) ?? h("tr", { "data-key": key },
      columns.map(([label, kind]) => h("td", { "data-label": label, class: kind })));
    cellsOf(item).forEach((cell, at) => show(row.children[at], cell));
    return row;
  });
  const wanted = new Set(rows);
  for (const row of [...body.children]) if (!wanted.has(row)) row.remove();
  rows.forEach((row, at) => {
    if (body.children[at] !== row) body.insertBefore(row, body.children[at] ?? null);
  });
}

function show(cell, shown) {
  const made = shown !== null && typeof shown === "object";
  const key = made ? `made ${shown.key}` : `text ${shown ?? ""}`;
  if (cell.dataset.shown === key) return;
  cell.dataset.shown = key;
  cell.replaceChildren(...(made ? [shown.make()].flat() : [shown].filter((text) => text)));
}

/** Puts others in the place of what an element holds; a link among them that had the focus keeps it. */
export function redraw(element, ...children) {
  const focused = document.activeElement;
  const held = element.contains(focused) ? focused.getAttribute("href") : null;
  element.replaceChildren(...children);
  if (held) [...element.querySelectorAll("a")].find((link) => link.getAttribute("href") === held)?.focus();
}

/** Says something without taking the focus. */
export function say(text, kind = "ok") {
  const said = document.getElementById("said");
  said.replaceChildren(h("p", { class: kind }, text,
    h("button", { type: "button", "aria-label": "Close", click: () => said.replaceChildren() }, "×")));
}

/** Asks before something is done: the fields' values, or null where it is not to be done. */
export function ask(title, text, action, fields = []) {
  return new Promise((resolve) => {
    const inputs = fields.map(({ name, label, ...more }) =>
      h("label", {}, label, h("input", { name, maxlength: 500, ...more })));
    const form = h("form", { method: "dialog" }, h("h2", { id: "ask-title" }, title), h("p", {}, text),
      inputs, h("div", { class: "actions" },
        // No button of the form: Enter in a field says what was typed for.
        h("button", { type: "button", click: () => dialog.close("no") }, "No"),
        h("button", { value: "yes", class: "strong" }, action)));
    const dialog = h("dialog", { "aria-labelledby": "ask-title" }, form);
    dialog.addEventListener("close", () => {
      const values = Object.fromEntries(new FormData(form));
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? values : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
