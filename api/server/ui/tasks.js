// The page of all tasks.

import { ask, query as address } from "/ui/api.js";
import { since } from "/ui/clock.js";
import { el, icon } from "/ui/dom.js";
import { hear } from "/ui/feed.js";
import { money, named, serverTime, t } from "/ui/i18n.js";
import { go, note } from "/ui/routes.js";
import { bar, stateOf, standing, troubleLine } from "/ui/standing.js";

const most = 1000; // rows kept: a list that stays open for weeks must not fill the memory

const states = ["scheduled", "pending", "processing", "input_required", "paused", "cancelling", "succeeded", "failed", "cancelled"];

export function tasks({ root, signal, query }) {
  const rows = new Map(); // id -> {task, node, text}
  let cursor = null;
  let loaded = Infinity; // when the list was read, by the server's clock
  const chosen = { status: query.get("status") || "", kind: query.get("kind") || "", label: query.get("label") || "", q: query.get("q") || "" };
  const body = el("tbody", {});
  const message = el("div", { class: "empty", role: "status" }, t("loading"));
  const more = el("button", { id: "more", hidden: true, onclick: () => load(cursor) }, t("list.more"));
  const shown = el("span", { class: "soft", id: "count" });
  const kinds = el("select", { id: "kind", onchange: pick }, el("option", { value: "" }, t("list.kinds")));
  const table = el("div", { class: "card flush", hidden: true }, el("table", { class: "list", "aria-label": t("nav.tasks") },
    el("thead", {}, el("tr", {}, ["task", "state", "progress", "age", "cost"].map((h) => el("th", { scope: "col" }, t("list." + h))))), body));

  root.append(
    el("div", { class: "head" }, el("h1", {}, t("nav.tasks")), el("a", { href: "/new", class: "button main" }, icon("plus"), t("nav.new"))),
    el("form", { class: "filters", role: "search", onsubmit: (event) => { event.preventDefault(); open(); } },
      labelled("search", el("input", { id: "search", type: "search", value: chosen.q, placeholder: t("list.search"), oninput: pick })),
      labelled("status", el("select", { id: "status", onchange: pick }, el("option", { value: "" }, t("list.states")),
        states.map((s) => el("option", { value: s, selected: s === chosen.status }, named("status", s))))),
      labelled("kind", kinds),
      labelled("label", el("input", { id: "label", value: chosen.label, placeholder: "project:atlas", onchange: pick }))),
    table, message, el("div", { class: "foot" }, shown, more));

  // pick reads the filters. The words that are searched for only hide rows; all else is asked for anew.
  function pick(event) {
    const value = (id) => root.querySelector("#" + id).value.trim();
    Object.assign(chosen, { status: value("status"), kind: value("kind"), label: value("label"), q: value("search") });
    note(chosen);
    if (event.target.id === "search") sift();
    else load(null);
  }

  // open goes to the task whose whole id was typed in.
  function open() {
    if (/^task[_-]\w+$/.test(chosen.q)) go("/tasks/" + encodeURIComponent(chosen.q));
  }

  async function load(from) {
    if (!from) { rows.clear(); body.replaceChildren(); }
    const asked = JSON.stringify(chosen);
    loaded = from ? loaded : serverTime();
    try {
      const page = await ask(address("/v1/tasks", { limit: 25, status: chosen.status, kind: chosen.kind, label: chosen.label, cursor: from }), { signal });
      if (asked !== JSON.stringify(chosen)) return; // the filters have changed in the meantime
      cursor = page.next_cursor;
      page.data.forEach((task) => put(task, false));
      message.textContent = "";
    } catch (problem) {
      if (signal.aborted) return;
      message.replaceChildren(el("p", { class: "bad" }, problem.detail || t("problem.unreachable")), el("button", { onclick: () => load(from) }, t("again")));
    }
    more.hidden = !cursor;
    sift();
  }

  // put shows a task where it stands, or at the top if it was made since the list was read, or has come into the state
  // that is asked for. Others that are not there are on later pages.
  function put(task, fresh) {
    const [key, ...value] = chosen.label.split(":");
    const fits = (!chosen.status || task.status === chosen.status) && (!chosen.kind || task.kind === chosen.kind)
      && (!chosen.label || task.labels?.[key] === value.join(":"));
    const before = rows.get(task.id);
    const text = JSON.stringify(task);
    if (before?.text === text) return;
    if (!fits) return drop(task.id);
    if (fresh && !before && Date.parse(chosen.status ? task.updated_at : task.created_at) < loaded - 1000) return;
    const node = row(task);
    if (before) before.node.replaceWith(node);
    else body[fresh ? "prepend" : "append"](node);
    rows.set(task.id, { node, text });
    if (fresh && rows.size > most) drop(body.lastElementChild.dataset.id);
  }

  function drop(id) {
    rows.get(id)?.node.remove();
    rows.delete(id);
  }

  // sift hides the rows that do not have the words, and says how many are left.
  function sift() {
    const wanted = chosen.q.toLowerCase().split(/\s+/);
    let visible = 0;
    for (const { node } of rows.values()) {
      node.hidden = !wanted.every((word) => node.textContent.toLowerCase().includes(word));
      visible += node.hidden ? 0 : 1;
    }
    table.hidden = !visible;
    shown.textContent = rows.size ? t(visible === rows.size ? "list.all" : "list.count", { shown: visible, loaded: rows.size }) + (cursor ? t("list.further") : "") : "";
    if (message.querySelector(".bad")) return;
    const filtered = chosen.status || chosen.kind || chosen.label || chosen.q;
    message.replaceChildren(...(visible ? [] : filtered ? [el("p", {}, t("list.nofit"))] : nothingYet()));
  }

  load(null);
  hear({ task: (task) => { if (body.isConnected) { put(task, true); sift(); } } }, signal);
  ask("/v1/kinds", { signal }).then((page) => kinds.append(...page.data.map((k) => el("option", { value: k.name, selected: k.name === chosen.kind }, named("kind", k.name)))), () => {});
}

const labelled = (name, field) => el("label", {}, el("span", {}, t("list.by." + name)), field);

const nothingYet = () => [el("h2", {}, t("list.none")), el("p", { class: "soft" }, t("list.none.note")),
  el("p", {}, el("a", { href: "/new", class: "button main" }, t("nav.new"))), el("code", {}, "longhaul submit summary report.pdf --watch")];

function row(task) {
  const labels = Object.entries(task.labels || {}).map(([k, v]) => el("span", { class: "tag" }, `${k}: ${v}`));
  return el("tr", { "data-id": task.id },
    el("td", {}, el("a", { href: "/tasks/" + encodeURIComponent(task.id), class: "whole" }, named("kind", task.kind)), task.headline && el("div", { class: "headline" }, task.headline), el("code", { class: "soft" }, task.id), labels),
    el("td", {}, stateOf(task)),
    el("td", {}, bar(task), el("div", { class: "soft" }, standing(task)), troubleLine(task)),
    el("td", { class: "soft" }, since(task.finished_at || task.created_at)),
    el("td", { class: "soft" }, money(task.usage?.cost)));
}
