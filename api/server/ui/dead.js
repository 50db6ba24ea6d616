// The page of dead letters: tasks that failed for good and wait for a person, grouped by what went wrong.

import { ask, query as address } from "/ui/api.js";
import { replay, run } from "/ui/actions.js";
import { since } from "/ui/clock.js";
import { el } from "/ui/dom.js";
import { clock, money, named, number, t } from "/ui/i18n.js";
import { note } from "/ui/routes.js";
import { diagnosis, failure } from "/ui/task.js";

export function dead({ root, signal, query }) {
  const chosen = { status: query.get("status") || "open", fingerprint: query.get("fingerprint") || "" };
  const groups = el("div", { class: "groups" });
  const list = el("div", { class: "many" });
  const more = el("button", { hidden: true, onclick: () => load(cursor) }, t("list.more"));
  let cursor = null;
  const tabs = ["open", "replayed", "discarded"].map((s) => el("button", { role: "tab", "aria-selected": s === chosen.status, onclick: () => pick({ status: s }) }, t("dead." + s)));
  root.append(el("div", { class: "head" }, el("h1", {}, t("nav.dead"))), el("p", { class: "soft lead" }, t("dead.lead")), groups,
    el("div", { class: "tabs" }, el("div", { role: "tablist" }, tabs), el("button", { class: "quiet", id: "all-groups", hidden: !chosen.fingerprint, onclick: () => pick({ fingerprint: "" }) }, t("dead.allgroups"))), list, more);

  function pick(change) {
    Object.assign(chosen, change);
    note({ status: chosen.status === "open" ? "" : chosen.status, fingerprint: chosen.fingerprint });
    tabs.forEach((tab, i) => tab.setAttribute("aria-selected", ["open", "replayed", "discarded"][i] === chosen.status));
    root.querySelector("#all-groups").hidden = !chosen.fingerprint;
    for (const card of groups.children) card.classList.toggle("chosen", card.dataset.fingerprint === chosen.fingerprint);
    load(null);
  }

  const empty = (text, tone = "") => list.replaceChildren(el("div", { class: "empty " + tone }, text));

  async function load(from) {
    try {
      const page = await ask(address("/v1/dead-letters", { ...chosen, cursor: from }), { signal });
      if (!from) list.replaceChildren();
      list.append(...page.data.map((letter) => card(letter, () => load(null))));
      cursor = page.next_cursor;
      if (!list.children.length) empty(t(chosen.status === "open" ? "dead.none" : "dead.noneof"));
    } catch (problem) {
      if (!signal.aborted) empty(problem.status === 404 ? t("absent") : problem.detail || problem.message, "bad");
    }
    more.hidden = !cursor;
  }

  ask("/v1/dead-letters/groups", { signal }).then((page) => groups.replaceChildren(...page.data.map((g) => group(g, g.fingerprint === chosen.fingerprint, () => pick({ fingerprint: g.fingerprint })))), () => {});
  load(null);
}

const sort = (g) => [named("kind", g.kind), g.step && named("step", g.step), g.provider].filter(Boolean).join(" · ");

const many = (what, n) => (n === 1 ? t("dead." + what) : t(`dead.${what}s`, { n: number(n) }));

// group is one way of going wrong, with what to do about it and a way to do it for all its tasks.
function group(g, chosen, show) {
  return el("section", { class: "card group-card" + (chosen ? " chosen" : ""), "data-fingerprint": g.fingerprint },
    el("div", { class: "line" }, el("h2", { class: "grow" }, named("code", g.code)), el("b", {}, many("task", g.tasks))),
    el("p", { class: "soft" }, sort(g), g.items ? " · " + many("item", g.items) : ""),
    diagnosis(g),
    el("p", { class: "soft" }, t("dead.seen"), " ", g.first_seen !== g.last_seen && [since(g.first_seen), " – "], since(g.last_seen), g.example && [" · ", el("a", { href: "/tasks/" + encodeURIComponent(g.example) }, t("dead.newest"))]),
    el("div", { class: "foot" }, el("button", { onclick: show }, t("dead.show")),
      el("button", { class: "main", onclick: () => replay("/v1/dead-letters/replay", false, { fingerprint: g.fingerprint }) }, t("dead.replayall"))));
}

function card(d, changed) {
  const path = "/v1/dead-letters/" + encodeURIComponent(d.id);
  const open = d.status === "open";
  return el("article", { class: "card", "data-id": d.id },
    el("div", { class: "line" }, el("h3", { class: "grow" }, el("a", { href: "/tasks/" + encodeURIComponent(d.id) }, d.headline || named("kind", d.kind))),
      el("span", { class: "state " + d.status }, t("dead." + d.status, {}, d.status)), el("span", { class: "soft" }, since(d.at))),
    el("p", { class: "soft" }, named("kind", d.kind), " · ", el("code", {}, d.id), d.usage?.cost ? " · " + money(d.usage.cost) : ""),
    d.error ? failure(d.error, diagnosis(d)) : diagnosis(d),
    d.failures?.length > 0 && el("details", { class: "minor" }, el("summary", {}, t("dead.failures", { n: d.failures.length })), el("ul", {}, d.failures.map((f) =>
      el("li", {}, el("b", {}, number(f.count), " × ", named("code", f.code)), " ", el("span", { class: "soft" }, [f.step && named("step", f.step), f.provider].filter(Boolean).join(" · ")), example(f))))),
    d.reason && el("p", {}, el("b", {}, t("dead.reason")), " ", d.reason),
    d.replays?.map((r) => el("p", {}, el("a", { href: "/tasks/" + encodeURIComponent(r.task_id) }, t("dead.replayedas")), " ", since(r.at))),
    open && el("div", { class: "foot" }, el("button", { class: "danger", onclick: () => discard(path, changed) }, t("dead.discard")),
      el("button", { class: "main", onclick: () => replay(d.replay?.path || path + "/replay", true) }, t("act.replay"))));
}

// example is one item that failed in a way, and what its last calls heard.
const example = ({ example: e, tries = [] }) => e && el("div", { class: "sample" }, [e.name, e.error?.detail].filter(Boolean).join(": "),
  tries.map((one) => el("div", { class: "soft" }, clock(one.at), " ", one.target, " ", one.said)));

// discard asks why: whoever finds the letter later should know.
function discard(path, changed) {
  const reason = el("textarea", { id: "reason", rows: 3, required: true });
  const send = async (event) => {
    event.preventDefault();
    if (!reason.value.trim()) return reason.focus();
    if (await run(event.submitter, path + "/discard", t("dead.discarded.done"), { reason: reason.value.trim() })) { dialog.close(); changed(); }
  };
  const dialog = el("dialog", { "aria-labelledby": "discard-title", onclose: () => dialog.remove() }, el("form", { onsubmit: send, novalidate: true },
    el("h2", { id: "discard-title" }, t("dead.discard.title")), el("p", { class: "soft" }, t("dead.discard.note")), el("label", { for: "reason" }, t("dead.reason")), reason,
    el("div", { class: "foot" }, el("button", { type: "button", onclick: () => dialog.close() }, t("cancel")), el("button", { class: "danger", id: "discard-send" }, t("dead.discard")))));
  document.body.append(dialog);
  dialog.showModal();
}
