// What happened in a task, from its beginning. It is read when somebody opens it, and again while it is open.

import { ask, query } from "/ui/api.js";
import { el } from "/ui/dom.js";
import { clock, duration, moment, named, t } from "/ui/i18n.js";

const bad = ["call_failed", "call_cancelled"];

export function timeline(id, signal) {
  const list = el("ol", { class: "timeline" });
  const more = el("button", { hidden: true, onclick: () => load(cursor) }, t("list.more"));
  const root = el("details", { class: "card", id: "timeline", ontoggle: () => root.open && load(null) }, el("summary", {}, el("h2", {}, t("timeline.title"))), list, more);
  let task, cursor, revision;

  async function load(from) {
    if (!task?.urls.timeline) return;
    revision = task.revision;
    try {
      const page = await ask(query(task.urls.timeline, { cursor: from }), { signal });
      if (!from) list.replaceChildren();
      list.append(...page.data.map(event));
      cursor = page.next_cursor;
    } catch (problem) {
      if (!signal.aborted) list.replaceChildren(el("li", { class: "bad" }, problem.detail || problem.message));
    }
    more.hidden = !cursor;
  }

  return {
    root,
    update(now) {
      task = now;
      if (root.open && now.revision !== revision && !cursor) load(null);
    },
  };
}

function event(e) {
  return el("li", { class: bad.includes(e.type) ? "bad" : e.type }, el("time", { datetime: e.at, title: moment(e.at), class: "soft" }, clock(e.at)),
    el("div", {}, el("b", {}, named("event", e.type)), " ", el("span", {}, e.summary),
      el("span", { class: "soft" }, [e.attempt > 1 && t("timeline.attempt", { n: e.attempt }), e.seconds && duration(e.seconds)].filter(Boolean).map((x) => " · " + x)),
      e.error && el("p", { class: "bad" }, e.error)));
}
