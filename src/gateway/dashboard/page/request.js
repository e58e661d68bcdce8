// One request: how it stands, its chain as a waterfall, what was told of it, and what can be done.

import { ask, fill, h, moment, notice, redraw, say, state, table, time, unknown } from "./dom.js";
import { get, pathOf } from "./fetch.js";
import { linkTo } from "./requests.js";

/** While it is not done it is read again so often, in milliseconds. */
const EVERY = 2_000;

/** Whether its result was seen; one that is done may still be about to publish it. */
const isDone = (it) => ["ok", "failed", "cancelled"].includes(it.state);

function facts(it, now) {
  const rows = [
    ["State", [state(it.state), it.code ? ` ${it.code}` : ""]],
    ["Error", it.message],
    ["Target", h("a", { href: `#/requests?${new URLSearchParams({ target: it.target })}` }, it.target)],
    ["Action", it.action ?? unknown()],
    ["Caller", it.caller ?? unknown()],
    ["Chain", it.correlation_id && h("a", { class: "id", href: `#/requests?${new URLSearchParams({ correlation_id: it.correlation_id })}` }, it.correlation_id)],
    ["Asked by", it.parent && h("a", { class: "id", href: linkTo(it.parent.target, it.parent.request) }, `${it.parent.request} of ${it.parent.target}`)],
    ["Worker", it.worker],
    ["Attempts", it.attempts],
    ["Began", it.began_ms && [moment(it.began_ms), ` (${time(Math.max(0, now - it.began_ms))} ago)`]],
    ["First claimed", it.first_claimed_ms && moment(it.first_claimed_ms)],
    ["Took", it.duration_ms != null ? time(it.duration_ms) : null],
    ["Model calls", it.spent && it.spent.requests],
    ["Tokens", it.spent && it.spent.tokens],
    ["Cost", it.spent && it.spent.cost],
    ["Verdict", it.verdict && `${it.verdict.approved ? "approved" : "rejected"} by ${it.verdict.by}${it.verdict.note ? `: ${it.verdict.note}` : ""}`],
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value != null && value !== false)
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, ...[value].flat().map((part) => (part instanceof Node ? part : String(part))))]));
}

/** The chain: a bar for each request, from when it was first claimed to its end. */
function waterfall(chain, own) {
  if (chain.error) return notice("failed", `The chain is not known: ${chain.error.message}`);
  const bars = chain.requests;
  if (bars.length === 0) return notice("empty", "Nothing of its chain has been claimed or told yet.");
  const begun = bars.filter((bar) => bar.began_ms != null);
  const first = Math.min(...begun.map((bar) => bar.began_ms));
  const last = Math.max(...begun.map((bar) => bar.began_ms + (bar.duration_ms ?? 0)), first + 1);
  const share = (ms) => `${((ms / (last - first)) * 100).toFixed(2)}%`;
  const rows = bars.map((bar) => {
    const isOwn = bar.request_id === own.request_id && bar.target === own.target;
    const name = h("span", { class: "name" },
      isOwn ? h("strong", {}, bar.target) : h("a", { href: linkTo(bar.target, bar.request_id) }, bar.target),
      h("small", {}, ` ${bar.action ?? ""} `), state(bar.state));
    name.style.setProperty("--depth", Math.min(bar.depth, 12));
    const track = h("span", { class: "track", "aria-hidden": "true" });
    if (bar.began_ms != null) {
      const piece = h("span", { class: "bar", "data-state": bar.state.startsWith("done ") ? (bar.state === "done ok" ? "ok" : "failed") : bar.state.replaceAll(" ", "-") });
      piece.style.setProperty("--from", share(bar.began_ms - first));
      piece.style.setProperty("--long", share(bar.duration_ms ?? 0));
      track.append(piece);
    }
    const words = bar.began_ms == null ? "not claimed" : `+${time(bar.began_ms - first)}, ${time(bar.duration_ms ?? 0)}`;
    const spent = bar.spent.tokens ? `, ${bar.spent.tokens} tokens` : "";
    return h("li", {}, name, track, h("small", { class: "words" }, words + spent));
  });
  return [h("ol", { class: "waterfall" }, rows),
    chain.more ? notice("empty", `and ${chain.more} more, which are not drawn`) : null].filter(Boolean);
}

function detailsOf(event) {
  const { worker, children, ...rest } = event.details ?? {};
  const said = Object.entries(rest).map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  if (worker) said.unshift(`by ${worker}`);
  if (children) said.push(children.map((it) => `${it.target} ${it.action}`).join(", "));
  return said.join("; ");
}

function told(events) {
  if (events.error) return notice("failed", `What was told of it is not known: ${events.error.message}`);
  if (events.told.length === 0) {
    return notice("empty", "Nothing was told of it: events.of says of which requests it is.");
  }
  const rows = table("Events", ["When", "What", ["Attempt", "number"], "Details"]);
  fill(rows, events.told.map((event, at) => ({ event, at })), ({ at }) => String(at), ({ event }) => [
    { key: event.at, make: () => moment(Date.parse(event.at)) },
    event.kind.replaceAll("_", " "),
    event.attempt == null ? "" : String(event.attempt),
    detailsOf(event),
  ]);
  return h("div", { class: "wide" }, rows.element);
}

/** Prompt and result, asked for when they are opened. */
function content(it) {
  if (!it.content) return notice("empty", "Prompts and results are not shown here: gateway.dashboard_content is off.");
  const place = h("div");
  const element = h("details", { toggle: () => element.open && show() },
    h("summary", {}, "Show prompt and result"), place);
  async function show() {
    place.replaceChildren(notice("loading", "Asking …"));
    try {
      const { prompt, result } = await get(`${pathOf(it.target, it.request_id)}/content`);
      place.replaceChildren(
        h("h4", {}, "Prompt"), prompt == null ? notice("empty", "It is no longer kept: it goes with its message once the request is answered.") : h("pre", { tabindex: "0" }, prompt),
        h("h4", {}, "Result"), result == null ? notice("empty", "There is none, or it is no longer kept.") : h("pre", { tabindex: "0" }, JSON.stringify(result, null, 2)));
    } catch (failure) {
      place.replaceChildren(notice("failed", `Not known: ${failure.message}`));
    }
  }
  return element;
}

/** The view. */
export function request(target, id, now) {
  const path = pathOf(target, id);
  const place = h("div", {}, notice("loading", "Asking …"));
  const reasons = h("div", { "aria-live": "polite" });
  const actions = h("div", { class: "actions" });
  const [top, chain, events, shownContent] = [h("div"), h("div"), h("div"), h("div")];
  let last = null, failed = null, readAt = 0, reading = false, left = false, drawn = "";

  const button = (label, act, kind = "") => h("button", { type: "button", class: kind, click: act }, label);
  const buttons = {
    why: button("Why is it not done?", why),
    cancel: button("Cancel", cancel),
    approve: button("Approve", () => decide(true), "strong"),
    reject: button("Reject", () => decide(false)),
  };

  async function read() {
    if (reading) return;
    reading = true;
    try {
      const it = await get(path);
      if (!left) show(it);
    } catch (failure) {
      if (left) return;
      const text = failure.status === 404 ? failure.message : `The request is not known: ${failure.message}`;
      if (text !== failed) place.replaceChildren(notice("failed", text, button("Try again", read)));
      failed = text;
      last = null;
      drawn = "";
    } finally {
      reading = false;
      readAt = Date.now();
    }
  }

  function show(it) {
    const isNew = last === null;
    last = it;
    failed = null;
    redraw(top, facts(it, now()));
    const parts = JSON.stringify([it.chain, it.events]);
    if (parts !== drawn) {
      drawn = parts;
      redraw(chain, ...[waterfall(it.chain, it)].flat());
      redraw(events, told(it.events));
    }
    const wanted = isDone(it) || it.state === "done" ? [] : [buttons.why, buttons.cancel,
      ...(it.state === "awaiting approval" ? [buttons.approve, buttons.reject] : [])];
    if (wanted.length !== actions.children.length) actions.replaceChildren(...wanted);
    if (isNew) {
      shownContent.replaceChildren(content(it));
      place.replaceChildren(top, actions, reasons, h("h3", {}, "Chain"), chain, h("h3", {}, "Events"), events,
        h("h3", {}, "Prompt and result"), shownContent);
    }
  }

  async function why() {
    reasons.replaceChildren(notice("loading", "Looking …"));
    try {
      const found = await get(`${path}/why`);
      const items = found.reasons.map((it) => {
        const item = h("li", {}, h("span", { class: "id" }, `${it.request_id} of ${it.target}`), `: ${it.message}`);
        item.style.setProperty("--depth", Math.min(it.depth, 12));
        return item;
      });
      reasons.replaceChildren(h("ul", { class: "reasons" }, items));
    } catch (failure) {
      reasons.replaceChildren(notice("failed", `Not known: ${failure.message}`));
    }
  }

  async function act(what, ask, done) {
    try {
      done(await ask());
      read();
    } catch (failure) {
      say(`It was not ${what}: ${failure.message}`, "failed");
    }
  }

  async function cancel() {
    const text = "It ends as cancelled, with everything that it asked of others. What is done stays done.";
    if (!(await ask("Cancel this request?", text, "Cancel it"))) return;
    await act("cancelled", () => get(`${path}/cancel`, { body: {} }), ({ cancelled }) =>
      say(cancelled.map((it) => `${it.request_id} of ${it.target}: ${it.answer}`).join("; ")));
  }

  async function decide(approved) {
    const word = approved ? "approve" : "reject";
    const said = await ask(approved ? "Approve this request?" : "Reject this request?",
      approved ? "It runs as it was asked." : "It ends as denied.", approved ? "Approve" : "Reject",
      [{ name: "by", label: "Who decides", required: true }, { name: "note", label: "Note" }]);
    if (!said) return;
    const body = { approved, by: said.by, note: said.note || null };
    await act(`${word}d`.replace("rejectd", "rejected"), () => get(`${path}/verdict`, { body }), ({ verdict }) =>
      say(`${verdict.approved ? "Approved" : "Rejected"} by ${verdict.by}.`));
  }

  read();
  return {
    name: "requests",
    title: id,
    element: h("section", { "aria-label": "Request" },
      h("p", {}, h("a", { href: "#/requests" }, "All requests")),
      h("h2", { class: "id" }, id), place),
    leave: () => { left = true; },
    tick() {
      const mayChange = failed !== null || (last && !isDone(last));
      if (mayChange && Date.now() - readAt >= EVERY && !document.hidden) read();
    },
  };
}
