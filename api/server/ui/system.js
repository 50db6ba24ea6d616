// The page of the system: what waits where, which providers are held up, who works. What the API does not tell is left out.

import { ask } from "/ui/api.js";
import { since, until } from "/ui/clock.js";
import { el, part, rest } from "/ui/dom.js";
import { duration, named, number, t } from "/ui/i18n.js";

const every = 5000; // milliseconds between two looks

export async function system({ root, signal }) {
  const shown = part(draw);
  const note = el("p", { class: "empty", role: "status" }, t("loading"));
  root.append(el("div", { class: "head" }, el("h1", {}, t("nav.system"))), el("p", { class: "soft lead" }, t("system.lead")), note, shown.root);
  while (!signal.aborted) {
    try {
      shown.update(await ask("/v1/system", { signal }));
      note.hidden = true;
    } catch (problem) {
      if (signal.aborted) return;
      note.hidden = false;
      note.textContent = problem.status === 404 ? t("absent") : problem.detail || problem.message;
      if (problem.status === 404) return;
    }
    do await rest(every, signal); while (document.hidden && !signal.aborted);
  }
}

const sum = (list, name) => (list || []).reduce((n, one) => n + (one[name] || 0), 0);

function draw({ queues, lanes, workers, kinds, throughput, dead_letters: dead }) {
  const figure = (name, value, tone = "") => value !== undefined && el("div", { class: "card figure " + tone }, el("b", {}, value), el("span", { class: "soft" }, t("system." + name)));
  const closed = lanes?.filter((l) => !l.open).length;
  return [
    el("div", { class: "figures" }, throughput && figure("throughput", number(throughput.per_minute ?? 0, { maximumFractionDigits: 1 })),
      throughput && figure("failing", number(throughput.failed_per_minute ?? 0, { maximumFractionDigits: 1 }), throughput.failed_per_minute ? "bad" : ""),
      dead && figure("dead", number(dead.open), dead.open ? "warn" : ""),
      queues && figure("backlog", number(sum(queues, "backlog")), sum(queues, "backlog") ? "warn" : ""),
      workers && figure("workers", number(workers.length), workers.length ? "" : "bad"), lanes && figure("closed", number(closed), closed ? "warn" : "")),
    table("kinds", kinds, [["kind", (k) => named("kind", k.kind)], ["running", num("running")], ["succeeded", num("succeeded")], ["failed", num("failed")],
      ["p50", (k) => span(k.p50_seconds)], ["p95", (k) => span(k.p95_seconds)]]),
    table("queues", queues, [["name", (q) => el("code", {}, q.name)], ["backlog", num("backlog")], ["oldest", (q) => (q.oldest_seconds ? duration(q.oldest_seconds) : "")]]),
    table("lanes", lanes, [["provider", (l) => l.provider], ["open", (l) => el("span", { class: "state " + (l.open ? "succeeded" : "failed") }, t(l.open ? "system.isopen" : "system.isclosed"))],
      ["why", (l) => [l.why && named("code", l.why), l.until && [" · ", until(l.until)]]], ["inflight", (l) => (l.limit ? `${number(l.in_flight ?? 0)} / ${number(l.limit)}` : number(l.in_flight ?? 0))], ["waiting", num("waiting")]]),
    table("workers", workers, [["identity", (w) => el("code", {}, w.identity)], ["queues", (w) => (w.queues || []).map((q) => el("span", { class: "tag" }, q))],
      ["slots", slots], ["seen", (w) => w.last_seen && since(w.last_seen)]]),
  ];
}

const num = (name) => (row) => (row[name] === undefined ? "" : number(row[name]));

const span = (seconds) => (seconds === undefined || seconds === null ? "" : duration(seconds));

function slots(w) {
  if (w.slots_used === undefined) return "";
  const all = w.slots_used + (w.slots_free ?? 0);
  return el("div", { class: "bar" }, el("meter", { min: 0, max: all || 1, value: w.slots_used, "aria-label": t("system.slots") }), el("span", {}, `${number(w.slots_used)} / ${number(all)}`));
}

// table shows a list of the answer, or nothing if the answer does not have it.
function table(name, rows, columns) {
  if (!rows) return null;
  const cell = ([head, show]) => (row) => el("td", { "data-head": t("system." + head) }, show(row));
  return el("section", { class: "card flush", id: name }, el("h2", {}, t("system." + name)),
    rows.length ? el("div", { class: "wide" }, el("table", { class: "stack" }, el("thead", {}, el("tr", {}, columns.map(([head]) => el("th", { scope: "col" }, t("system." + head))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map((c) => cell(c)(row))))))) : el("p", { class: "empty" }, t("system.none")));
}
