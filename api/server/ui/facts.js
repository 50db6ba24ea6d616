// What else there is to know of a task: times, usage and cost, its files, what was delivered to whom.

import { ask, post, saved } from "/ui/api.js";
import { until } from "/ui/clock.js";
import { el, icon, toast } from "/ui/dom.js";
import { bytes, duration, moment, money, named, number, t } from "/ui/i18n.js";
import { film } from "/ui/result.js";

const fact = (name, value) => value !== undefined && value !== null && value !== "" && el("div", {}, el("dt", {}, t("fact." + name)), el("dd", {}, value));

const count = (n) => (n ? number(n) : "");

export function facts(v) {
  const u = v.usage || {};
  const end = v.finished_at || null;
  return el("section", { class: "card" }, el("h2", {}, t("fact.title")), el("dl", { class: "facts" },
    fact("cost", u.cost ? el("b", { id: "cost" }, money(u.cost)) : ""), fact("budget", v.budget ? number(v.budget) : ""),
    fact("requests", count(u.requests)), fact("input_tokens", count(u.input_tokens)), fact("cached_tokens", count(u.cached_tokens)),
    fact("output_tokens", count(u.output_tokens)), fact("wasted_tokens", count(u.wasted_tokens)), fact("unmetered_calls", count(u.unmetered_calls)),
    fact("video_seconds", u.video_seconds ? duration(u.video_seconds) : ""),
    fact("model", v.model), fact("priority", v.priority ? t("fact.of5", { n: v.priority }) : ""),
    fact("created", moment(v.created_at)), fact("scheduled", v.scheduled_at && moment(v.scheduled_at)), fact("started", v.started_at && moment(v.started_at)),
    fact("finished", end && moment(end)), fact("took", end && v.started_at ? duration((new Date(end) - new Date(v.started_at)) / 1000) : ""),
    fact("deadline", v.deadline_at && (v.done ? moment(v.deadline_at) : until(v.deadline_at))),
    fact("tenant", v.tenant)));
}

// later fills a box with what an address answers, and is nothing if that is nothing.
function later(title, href, draw) {
  const box = el("section", { class: "card", hidden: true }, el("h2", {}, title));
  ask(href).then((page) => {
    if (!page.data?.length) return;
    box.hidden = false;
    box.append(draw(page.data));
  }, () => {});
  return box;
}

// trouble is why a message has not arrived.
function trouble(d) {
  const why = d.detail || (d.status !== "delivered" && d.attempts.at(-1)?.error);
  return why && el("p", { class: d.status === "delivered" ? "soft" : "bad" }, why);
}

// files are the artifacts of a task that has ended.
export function files(href) {
  if (!href) return null;
  const line = (a) => el("li", {}, saved(a.href, a.name, icon("file"), el("span", { class: "grow" }, a.name)), el("span", { class: "soft" }, bytes(a.bytes)), a.content_type.startsWith("video/") && film(a));
  return later(t("files.title"), href, (data) => el("ul", { class: "files", id: "artifacts" }, data.map(line)));
}

// deliveries are the messages that tell of the task, with what became of them.
export function deliveries(href) {
  if (!href) return null;
  const again = async (d) => post(`/v1/deliveries/${encodeURIComponent(d.id)}/redeliver`).then(() => toast(t("deliveries.sent")), (p) => toast(p.detail, "bad"));
  const line = (d) => el("li", {}, el("span", { class: "grow" }, d.event, " ", el("span", { class: "soft" }, d.url, " · ", moment(d.created_at))),
    el("span", { class: "state " + d.status }, named("delivery", d.status)), trouble(d),
    d.status === "failed" && el("button", { onclick: () => again(d) }, t("deliveries.again")));
  return later(t("deliveries.title"), href, (data) => el("ul", { class: "files" }, data.map(line)));
}
