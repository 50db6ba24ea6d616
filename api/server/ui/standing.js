// How a task stands, in words and as a bar.

import { el } from "/ui/dom.js";
import { until } from "/ui/clock.js";
import { duration, moment, named, number, t } from "/ui/i18n.js";

// stateOf is the state as a mark; a task of which only a part succeeded says so.
export const stateOf = (task) => el("span", { class: `state ${task.status} ${task.outcome || ""}` },
  task.status === "succeeded" && task.outcome === "partial" ? t("status.partial") : named("status", task.status));

// bar shows the progress of a task that is under way, and of one that succeeded.
export function bar(task) {
  const percent = task.progress?.percent;
  if (percent === null || percent === undefined || (task.done && task.status !== "succeeded")) return null;
  return el("div", { class: "bar" }, el("progress", { max: 100, value: percent, "aria-label": t("list.progress") }), el("span", {}, percent + "%"));
}

// standing says in a line what is done and what is left.
export function standing(task) {
  const { counts = {}, eta, step } = task.progress || {};
  const parts = [];
  if (!task.done && step) parts.push(named("step", step));
  if (counts.total) parts.push(t("counts.of", { done: number(counts.succeeded), total: number(counts.total) }));
  if (counts.failed) parts.push(t("counts.lost", { n: number(counts.failed) }));
  if (!task.done && eta) parts.push(t("eta", { time: duration(eta.seconds) }));
  return parts.join(" · ");
}

// waitingFor says why nothing moves.
const waitingFor = ({ reason, detail }) => named("waiting", reason) + (detail ? `: ${detail}` : "");

// troubles are what is in the way: {tone, text, until}.
function troubles(task) {
  const found = [];
  const { waiting, retrying, stalled } = task;
  if (waiting) found.push({ tone: "wait", text: waitingFor(waiting), until: waiting.until });
  if (retrying) found.push({ tone: "wait", text: t("retrying", { step: named("step", retrying.step), attempt: retrying.attempt, error: retrying.last_error }), until: retrying.next_attempt_at });
  if (stalled) found.push({ tone: "warn", text: t("stalled", { since: stalled.since ? moment(stalled.since) : "" }) + (stalled.detail ? ` ${stalled.detail}` : "") });
  return found;
}

const line = ({ tone, text, until: at }) => el("div", { class: "trouble " + tone }, text, at && [" · ", until(at)]);

export const troubleLines = (task) => troubles(task).map(line);

// troubleLine is what a list has room for.
export const troubleLine = (task) => [...troubleLines(task), task.error && el("div", { class: "trouble bad" }, task.error.detail || task.error.title)];
