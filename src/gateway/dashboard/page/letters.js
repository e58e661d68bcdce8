// Dead letters: messages that nobody will answer any more, and their replay.

import { ask, fill, h, notice, say, table, time } from "./dom.js";
import { get } from "./fetch.js";
import { linkTo } from "./requests.js";

/** While they are not known they are asked for again so often, in milliseconds. */
const FAILED_EVERY = 3_000;

/** The view. */
export function letters(now) {
  const rows = table("Dead letters, the newest first", [["Letter", "number"], "Reason", "Detail", "Target", ["Request", "id"], ["Attempts", "number"], ["Buried", "number"], "Do"]);
  const wrapped = h("div", { class: "wide" }, rows.element);
  const place = h("div", {}, notice("loading", "Asking …"));
  const told = h("p", { class: "hint", role: "status" });
  let count = null, reading = false, shown = [], failed = null, readAt = 0;

  function cells(it) {
    const id = it.request_id;
    return [
      String(it.sequence),
      it.reason,
      it.detail,
      it.target ?? "",
      { key: `${it.target} ${id}`, make: () => id && it.target ? h("a", { class: "row-link id", href: linkTo(it.target, id) }, id) : h("span", { class: "id" }, id ?? "") },
      it.attempts == null ? "" : String(it.attempts),
      `${time(Math.max(0, now() - it.buried_ms))} ago`,
      { key: String(it.sequence), make: () => [
        h("button", { type: "button", "aria-label": `Dry run of letter ${it.sequence}`, click: () => replay(it, true) }, "Dry run"), " ",
        h("button", { type: "button", "aria-label": `Replay letter ${it.sequence}`, click: () => replay(it, false) }, "Replay")] },
    ];
  }

  async function replay({ sequence }, dry) {
    const text = "Its request is published again, and the letter removed once the broker has it.";
    if (!dry && !(await ask(`Replay letter ${sequence}?`, text, "Replay"))) return;
    await send(sequence, dry, false);
  }

  async function send(sequence, dry, force) {
    try {
      const it = await get(`/letters/${sequence}/replay`, { body: { dry_run: dry, force } });
      const as = it.request_id === it.original ? "" : ` as ${it.request_id}`;
      say(dry ? `Letter ${sequence} would ask ${it.target} again for ${it.original}${as}.`
        : `Letter ${sequence} was replayed: ${it.target} is asked for ${it.original}${as}.`);
      if (!dry) read();
    } catch (failure) {
      if (failure.status !== 409 || force) return say(`Letter ${sequence} is not replayed: ${failure.message}`, "failed");
      const forced = await ask(`Replay letter ${sequence} all the same?`, failure.message, dry ? "Dry run of that" : "Replay all the same");
      if (forced) await send(sequence, dry, true);
    }
  }

  async function read() {
    if (reading) return;
    reading = true;
    try {
      show(await get("/letters"));
    } catch (failure) {
      told.textContent = "";
      shown = [];
      if (failed !== failure.message) {
        place.replaceChildren(notice("failed", `The dead letters are not known: ${failure.message}`,
          h("button", { type: "button", click: read }, "Try again")));
      }
      failed = failure.message;
    } finally {
      reading = false;
      readAt = Date.now();
    }
  }

  function show(found) {
    const more = [found.older && `${found.older} older ones are not shown`, found.strangers && `${found.strangers} messages there are no letters`].filter(Boolean);
    told.textContent = more.join("; ");
    shown = found.letters;
    failed = null;
    if (shown.length === 0) return place.replaceChildren(notice("empty", "No dead letters."));
    fill(rows, shown, (it) => String(it.sequence), cells);
    if (wrapped.parentNode !== place || place.childNodes.length !== 1) place.replaceChildren(wrapped);
  }

  read();
  return {
    name: "letters",
    title: "Dead letters",
    element: h("section", { "aria-label": "Dead letters" }, h("h2", {}, "Dead letters"), place, told),
    part(name, value) {
      if (name !== "letters") return;
      const isNew = count !== null && count !== value.letters;
      count = value.letters ?? null;
      if (isNew || value.error) read();
    },
    tick() {
      if (document.hidden) return;
      if (failed !== null && Date.now() - readAt >= FAILED_EVERY) read();
      else if (shown.length) fill(rows, shown, (it) => String(it.sequence), cells);
    },
  };
}
