// The latest requests, a page at a time: never more rows than one page has.

import { fill, h, notice, state, table, time, unknown } from "./dom.js";
import { get } from "./fetch.js";

const PAGE = 50;

/** While some of a page are not done it is read again so often, in milliseconds. */
const OPEN_EVERY = 3_000;

const STATES = [
  ["", "any state"], ["open", "not done"], ["queued", "queued"], ["running", "running"],
  ["waiting", "waiting for others"], ["approval", "waiting for approval"], ["ok", "ok"],
  ["failed", "failed"], ["cancelled", "cancelled"],
];

/** The address of a request's page. */
export function linkTo(target, id) {
  return `#/request/${encodeURIComponent(target)}/${encodeURIComponent(id)}`;
}

function cells(it, now) {
  return [
    { key: `${it.state} ${it.code ?? ""}`, make: () => [state(it.state), it.code ? h("small", {}, ` ${it.code}`) : ""] },
    { key: it.request_id, make: () => h("a", { class: "row-link id", href: linkTo(it.target, it.request_id) }, it.request_id) },
    it.target,
    it.action ?? { key: "", make: unknown },
    it.caller ?? { key: "", make: unknown },
    it.attempts ? String(it.attempts) : "",
    `${time(Math.max(0, now - it.began_ms))} ago`,
    time(it.duration_ms),
  ];
}

/** The view. */
export function requests(query, now) {
  const rows = table("Requests, the newest first", ["State", ["Request", "id"], "Target", "Action", "Caller", ["Attempts", "number"], ["Began", "number"], ["Took", "number"]]);
  const wrapped = h("div", { class: "wide" }, rows.element);
  const place = h("div", { "aria-busy": "true" }, notice("loading", "Asking …"));
  const told = h("p", { class: "hint", role: "status" });
  const newer = h("button", { type: "button", click: () => turn(-1) }, "Newer");
  const older = h("button", { type: "button", click: () => turn(1) }, "Older");
  /** Where each page begins that was seen; the first at the newest. */
  let cursors = [null], at = 0, next = null, shown = [], changes = null, readAt = 0, reading = null, again = false, failed = null;

  const field = (name, label, more = {}) =>
    h("label", {}, label, h("input", { name, value: query.get(name) ?? "", autocomplete: "off", spellcheck: "false", ...more }));
  const form = h("form", { class: "filters", role: "search", submit: (event) => { event.preventDefault(); filtered(); } },
    field("id", "Id contains", { type: "search" }),
    field("target", "Target", { list: "known-targets" }),
    h("label", {}, "State", h("select", { name: "state", change: () => filtered() },
      STATES.map(([value, label]) => h("option", { value, selected: value === (query.get("state") ?? "") }, label)))),
    field("caller", "Caller"),
    field("correlation_id", "Correlation id"),
    h("div", { class: "actions" }, h("button", {}, "Look"), h("button", { type: "button", click: clear }, "Clear")));
  const targets = h("datalist", { id: "known-targets" });

  function asked() {
    const said = [...new FormData(form)].filter(([, value]) => value.trim() !== "").map(([name, value]) => [name, value.trim()]);
    return new URLSearchParams(said);
  }

  function filtered() {
    const said = asked().toString();
    history.replaceState(null, "", said ? `#/requests?${said}` : "#/requests");
    cursors = [null];
    at = 0;
    read();
  }

  function clear() {
    for (const field of form.querySelectorAll("input")) field.value = "";
    form.querySelector("select").value = "";
    filtered();
  }

  function turn(by) {
    if (by > 0 && next) { cursors = [...cursors.slice(0, at + 1), next]; at += 1; }
    else if (by < 0 && at > 0) at -= 1;
    else return;
    read();
  }

  /** Reads the page; what is asked meanwhile supersedes it. */
  async function read() {
    reading?.abort();
    const mine = reading = new AbortController();
    const said = asked();
    said.set("limit", PAGE);
    if (cursors[at]) said.set("cursor", cursors[at]);
    place.setAttribute("aria-busy", "true");
    try {
      const page = await get(`/requests?${said}`, { signal: mine.signal });
      if (mine === reading) show(page);
    } catch (failure) {
      if (mine !== reading || mine.signal.aborted) return;
      if (failure.status === 409 && at > 0) { cursors = [null]; at = 0; again = true; }
      shown = [];
      told.textContent = "";
      if (failed !== failure.message) {
        place.replaceChildren(notice("failed", `The requests are not known: ${failure.message}`,
          h("button", { type: "button", click: () => read() }, "Try again")));
      }
      failed = failure.message;
    } finally {
      if (mine === reading) {
        reading = null;
        readAt = Date.now();
        place.removeAttribute("aria-busy");
        if (again) { again = false; read(); }
      }
    }
  }

  function show(page) {
    ({ next } = page);
    shown = page.requests;
    failed = null;
    newer.disabled = at === 0;
    older.disabled = !next;
    const missing = page.reading ? "; older ones are still being read" : "; older ones could not be read in time";
    told.textContent = `Page ${at + 1}${page.complete ? "" : missing}`;
    if (shown.length === 0) {
      const none = next ? "None on this page; older ones may fit." : page.complete ? "No request fits."
        : page.reading ? "None yet: they are still being read." : "None of those that could be read in time.";
      place.replaceChildren(notice(page.complete ? "empty" : page.reading ? "loading" : "failed", none));
      return;
    }
    fill(rows, shown, (it) => `${it.target}/${it.request_id}`, (it) => cells(it, now()));
    if (wrapped.parentNode !== place || place.childNodes.length !== 1) place.replaceChildren(wrapped);
  }

  const isOpen = (it) => !["ok", "failed", "cancelled"].includes(it.state);
  newer.disabled = older.disabled = true;
  read();
  return {
    name: "requests",
    title: "Requests",
    element: h("section", { "aria-label": "Requests" }, h("h2", {}, "Requests"), form, targets, place,
      h("div", { class: "actions" }, newer, older, told)),
    keys: { n: () => turn(1), p: () => turn(-1) },
    leave: () => { reading?.abort(); reading = null; },
    part(name, value) {
      if (name === "targets" && !value.error) {
        targets.replaceChildren(...value.targets.map((it) => h("option", { value: it.target })));
      }
      if (name !== "requests") return;
      const isNew = changes !== null && changes !== value.changes;
      changes = value.changes ?? null;
      // A page further back does not move under its reader.
      if ((isNew || value.error || !value.complete) && at === 0 && !reading && !document.hidden) read();
    },
    tick() {
      if (reading || document.hidden) return;
      if ((failed !== null || shown.some(isOpen)) && Date.now() - readAt >= OPEN_EVERY) read();
      else if (shown.length) fill(rows, shown, (it) => `${it.target}/${it.request_id}`, (it) => cells(it, now()));
    },
  };
}
