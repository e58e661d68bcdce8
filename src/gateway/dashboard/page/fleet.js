// The fleet at a glance: targets, workers, model servers. All of it comes with the stream.

import { ask, fill, h, notice, say, state, table, time } from "./dom.js";
import { get } from "./fetch.js";

const number = (value) => (value == null ? "" : value.toLocaleString("en"));

/** A section whose rows are a part of the stream. */
function section(title, part, columns, key, cells, empty) {
  const rows = table(title, columns);
  const wrapped = h("div", { class: "wide" }, rows.element);
  const place = h("div", {}, notice("loading", "Asking …"));
  const element = h("section", { "aria-label": title }, h("h2", {}, title), place);
  return {
    element,
    part,
    take(value) {
      if (value.error) {
        return place.replaceChildren(notice("failed", `Not known: ${value.error.message}`));
      }
      const items = value[part];
      if (items.length === 0) return place.replaceChildren(notice("empty", empty));
      fill(rows, items, key, cells);
      if (wrapped.parentNode !== place || place.childNodes.length !== 1) place.replaceChildren(wrapped);
    },
  };
}

function targetCells(it) {
  const { high, normal, low } = it.queued;
  const link = `#/requests?${new URLSearchParams({ target: it.target, state: "open" })}`;
  return [
    { key: it.target, make: () => h("a", { class: "row-link", href: link }, it.target) },
    { key: `${high}/${normal}/${low}`, make: () => [number(high + normal + low),
      high || low ? h("small", {}, ` ${high} high, ${low} low`) : null].filter(Boolean) },
    number(Math.max(0, it.running - it.waiting - it.waiting_for_approval)),
    it.waiting || it.waiting_for_approval
      ? `${number(it.waiting + it.waiting_for_approval)}${it.waiting_for_approval ? ` (${it.waiting_for_approval} for approval)` : ""}` : "0",
    it.oldest_ms == null ? "" : time(it.oldest_ms),
    it.deliveries_per_second == null ? "" : it.deliveries_per_second.toFixed(1),
    { key: String(it.workers), make: () => it.workers ? String(it.workers) : state("none") },
  ];
}

function workerCells(it) {
  const used = it.slots - it.slots_free;
  return [
    it.id,
    it.host,
    it.targets.join(", "),
    { key: `${used}/${it.slots}`, make: () => [
      h("meter", { min: 0, max: it.slots, value: used, "aria-label": "slots in use" }), ` ${used} of ${it.slots}`] },
    String(it.in_flight),
    it.session == null ? "none" : time(it.session_age_ms),
    it.last_error == null ? "" : `${it.last_error}, ${time(it.last_error_age_ms)} ago`,
    { key: it.id, make: () => h("button", { type: "button", "aria-label": `Drain ${it.id}`, click: () => drain(it) }, "Drain") },
  ];
}

async function drain({ id, in_flight }) {
  const text = `${id} takes no more requests, finishes the ${in_flight} that it has, or hands them over, and ends.`;
  if (!(await ask("Drain this worker?", text, "Drain"))) return;
  try {
    await get(`/workers/${encodeURIComponent(id)}/drain`, { body: {} });
    say(`${id} drains.`);
  } catch (failure) {
    say(`${id} was not told: ${failure.message}`, "failed");
  }
}

function serverCells(it) {
  const limits = [
    it.limits.requests_per_minute && `${number(it.limits.requests_per_minute)} calls a minute`,
    it.limits.tokens_per_minute && `${number(it.limits.tokens_per_minute)} tokens a minute`,
  ].filter(Boolean);
  const says = it.throttled_ms != null ? "throttled" : it.breaker;
  const detail = it.throttled_ms != null ? `next call in ${time(it.throttled_ms)}`
    : it.retry_in_ms != null ? `${it.failed_percent} % failed, tried again in ${time(it.retry_in_ms)}` : "";
  return [
    it.server,
    { key: says, make: () => state(says) },
    detail,
    limits.join(", ") || "none",
    it.targets.join(", "),
  ];
}

/** The view. */
export function fleet() {
  const sections = [
    section("Targets", "targets",
      ["Target", ["Queued", "number"], ["Running", "number"], ["Waiting", "number"], ["Oldest", "number"], ["A second", "number"], ["Workers", "number"]],
      (it) => it.target, targetCells, "No target: no worker of this fleet ever ran."),
    section("Workers", "workers",
      ["Worker", "Host", "Targets", "Slots", ["In flight", "number"], ["Session", "number"], "Last error", "Do"],
      (it) => it.id, workerCells, "No worker is alive."),
    section("Model servers", "servers",
      ["Server", "Breaker", "Detail", "Limits", "Targets"],
      (it) => it.server, serverCells, "No Puruto asks a model server: models are simulated, or none is asked."),
  ];
  return {
    name: "fleet",
    title: "Fleet",
    element: h("div", {}, sections.map((it) => it.element)),
    part(name, value) {
      sections.find((it) => it.part === name)?.take(value);
    },
  };
}
