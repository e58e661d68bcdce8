// The page: which view is shown, the stream that keeps it up to date, and the keys.

import { h, say, time } from "./dom.js";
import { follow } from "./fetch.js";
import { fleet } from "./fleet.js";
import { letters } from "./letters.js";
import { request } from "./request.js";
import { requests } from "./requests.js";

/** What the stream told last, by part. */
const parts = new Map();

/** The view that is shown: {name, element, part?(name, value), tick?(now), key?(key), leave?()}. */
let view;

/** The gateway's time of day at the last reading, and ours when it came. */
const clock = { told: Date.now(), at: Date.now() };

/** The gateway's time of day. */
const now = () => clock.told + (Date.now() - clock.at);

function show() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const names = path.split("/").filter((name) => name !== "").map(decode);
  view?.leave?.();
  view = viewOf(names, new URLSearchParams(query));
  document.getElementById("view").replaceChildren(view.element);
  document.title = `${view.title} - Puruto Fleet`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const [name, value] of parts) view.part?.(name, value);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function viewOf([name, target, id], query) {
  if (name === "requests") return requests(query, now);
  if (name === "request" && target && id) return request(target, id, now);
  if (name === "letters") return letters(now);
  return fleet(now);
}

const live = document.getElementById("live");

function lives(word, shape, detail = "") {
  if (live.dataset.word === word + detail) return;
  live.dataset.word = word + detail;
  live.dataset.live = word;
  live.replaceChildren(h("span", { class: "shape", "aria-hidden": "true" }, shape), ` ${word}${detail}`);
}

let cutAt = null;
setInterval(() => {
  if (cutAt !== null) lives("stale", "▲", `: nothing heard for ${time(Math.max(1000, Date.now() - cutAt))}`);
}, 1_000);

follow({
  part(name, value) {
    parts.set(name, value);
    if (name === "letters") {
      const count = value.error ? "?" : value.letters;
      document.getElementById("letter-count").textContent = count ? `(${count})` : "";
    }
    view.part?.(name, value);
  },
  tick(told) {
    clock.told = told;
    clock.at = Date.now();
    cutAt = null;
    document.body.classList.remove("stale");
    lives("live", "●");
    view.tick?.();
  },
  cut() {
    cutAt = clock.at;
    document.body.classList.add("stale");
    lives("stale", "▲");
  },
});

/** Moves the focus from row to row. */
function step(by) {
  const links = [...document.querySelectorAll("#view tbody .row-link")];
  const at = links.indexOf(document.activeElement);
  const next = links[at === -1 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)];
  next?.focus();
}

const help = document.getElementById("help");
const go = (hash) => { location.hash = hash; };
const KEYS = {
  "1": () => go("#/"),
  "2": () => go("#/requests"),
  "3": () => go("#/letters"),
  "?": () => help.showModal(),
  "j": () => step(1),
  "k": () => step(-1),
  "u": () => go("#/requests"),
  "/": () => {
    const field = document.querySelector("input[name=id]");
    if (field) field.focus();
    else { go("#/requests"); setTimeout(() => document.querySelector("input[name=id]")?.focus(), 0); }
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, select, textarea, dialog")) return;
  const act = KEYS[event.key] ?? view.keys?.[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

document.getElementById("help-open").addEventListener("click", () => help.showModal());
document.getElementById("logout").addEventListener("click", async () => {
  const answer = await fetch("/dashboard/logout", { method: "POST", headers: { "x-puruto-dashboard": "1" } })
    .catch(() => null);
  if (answer?.ok) location.assign("/");
  else say("You are still logged in: the gateway did not answer.", "failed");
});
addEventListener("hashchange", () => { show(); document.getElementById("view").focus(); });
show();
