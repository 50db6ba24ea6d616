// The feed tells the whole dashboard of every task that changes: one connection for all of it.

import { ask } from "/ui/api.js";
import { rest } from "/ui/dom.js";
import { follow } from "/ui/live.js";

const every = 3000; // milliseconds between two looks where there is no stream
const hidden = 15000; // the same while nobody looks, for the bell

const listeners = new Set();
let state = "";
let seen = new Map(); // of the last look: what has not changed is not told again
let wake = new AbortController();

// hear calls on.task(task) for every task that changes, and on.state("live" | "polling" | "down").
export function hear(on, signal) {
  listeners.add(on);
  signal?.addEventListener("abort", () => listeners.delete(on));
  if (state) on.state?.(state);
}

const tell = (what, value) => listeners.forEach((on) => on[what]?.(value));

function stand(next) {
  if (next !== state) tell("state", state = next);
}

// look reads the first tasks of the list and tells what has changed in them.
async function look(signal) {
  const page = await ask("/v1/tasks?limit=50", { signal });
  const now = new Map(page.data.map((task) => [task.id, JSON.stringify(task)]));
  for (const task of page.data) if (now.get(task.id) !== seen.get(task.id)) tell("task", task);
  seen = now;
}

// start follows the feed for as long as the page is open.
export async function start(signal) {
  await look(signal).catch(() => stand("down"));
  setInterval(() => document.hidden && look(signal).catch(() => {}), hidden);
  const there = await follow("/v1/events", ({ event, data }) => {
    if (event === "task" && data.id) tell("task", data);
  }, { signal, onState: stand });
  while (!there && !signal.aborted) {
    await look(signal).then(() => stand("polling"), () => stand("down"));
    wake = new AbortController();
    do await rest(every, AbortSignal.any([signal, wake.signal])); while (document.hidden);
  }
}

document.addEventListener("visibilitychange", () => document.hidden || wake.abort());
