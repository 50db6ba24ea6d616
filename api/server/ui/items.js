// The items of a task: each with its own outcome, a page at a time, also while the task runs.

import { ask, query, saved } from "/ui/api.js";
import { el, icon } from "/ui/dom.js";
import { money, named, number, t, titled } from "/ui/i18n.js";
import { short } from "/ui/result.js";

const size = 25; // items a page
const pause = 2000; // milliseconds between two looks while the task runs

export function items(id, signal) {
  const root = el("section", { class: "card", id: "items", hidden: true });
  const body = el("tbody", {});
  const states = el("select", { "aria-label": t("list.by.status"), onchange: () => turn([null]) }, ["", "succeeded", "failed", "cancelled"].map((s) => el("option", { value: s }, s ? named("item", s) : t("items.all"))));
  const back = el("button", { onclick: () => turn(cursors.slice(0, -1)) }, t("items.back"));
  const next = el("button", { onclick: () => turn([...cursors, following]) }, t("items.next"));
  const note = el("p", { class: "soft", role: "status" });
  let cursors = [null]; // of the pages before this one, and of this one
  let following = null;
  let task, shown, counted, timer;

  function draw() {
    root.append(el("div", { class: "line" }, el("h2", { class: "grow" }, t("items.title")), states, saved(`${task.urls.items}.jsonl`, `${id}-items.jsonl`, icon("down"), t("items.save"))),
      el("div", { class: "wide" }, el("table", { class: "items stack" }, el("thead", {}, el("tr", {}, ["item", "state", "result", "calls", "cost"].map((h) => el("th", { scope: "col" }, t("items." + h))))), body)),
      note, el("div", { class: "foot" }, back, next));
  }

  function turn(to) {
    cursors = to;
    load();
  }

  async function load() {
    try {
      const page = await ask(query(task.urls.items, { limit: size, status: states.value, cursor: cursors.at(-1) }), { signal });
      following = page.next_cursor;
      const text = JSON.stringify(page.data);
      if (text !== shown) body.replaceChildren(...page.data.map((item) => row(task.kind, item)));
      shown = text;
      root.hidden = !page.data.length && !states.value && cursors.length === 1;
      note.textContent = page.data.length ? "" : t("items.none");
    } catch (problem) {
      if (!signal.aborted) note.textContent = problem.detail || problem.message;
    }
    back.disabled = cursors.length === 1;
    next.disabled = !following;
    back.hidden = next.hidden = back.disabled && next.disabled;
  }

  return {
    root,
    // update looks again when more items have an outcome than before, and not too often.
    update(now) {
      if (!now.urls.items) return;
      const first = !task;
      task = now;
      if (first) draw();
      const { succeeded = 0, failed = 0, cancelled = 0 } = now.progress?.counts || {};
      const count = [succeeded, failed, cancelled, now.done].join();
      if (count === counted) return;
      counted = count;
      timer ??= setTimeout(() => { timer = null; load(); }, first ? 0 : pause);
    },
  };
}

function row(kind, item) {
  const cell = (head, ...children) => el("td", { "data-head": t("items." + head) }, ...children);
  return el("tr", {},
    el("td", {}, el("span", { class: "soft" }, number(item.index + 1)), " ", item.name),
    cell("state", el("span", { class: "state " + item.status }, named("item", item.status)), item.cached && el("span", { class: "tag", title: t("items.cached.note") }, t("items.cached"))),
    cell("result", item.result !== undefined && short(kind, item.result), item.error && el("div", { class: "bad" }, titled(item.error), ": ", item.error.detail)),
    cell("calls", item.attempts ? number(item.attempts) : ""),
    cell("cost", money(item.usage?.cost)));
}
