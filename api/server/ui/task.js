// The page of one task: how it stands, what it made, what can be done.

import { ask } from "/ui/api.js";
import { since } from "/ui/clock.js";
import { el, part, say } from "/ui/dom.js";
import { actions } from "/ui/actions.js";
import { requests } from "/ui/input.js";
import { facts, files, deliveries } from "/ui/facts.js";
import { named, number, t, titled, told } from "/ui/i18n.js";
import { items } from "/ui/items.js";
import { watch } from "/ui/live.js";
import { result } from "/ui/result.js";
import { bar, stateOf, standing, troubleLines } from "/ui/standing.js";
import { liveText } from "/ui/text.js";
import { timeline } from "/ui/timeline.js";

export function task({ root, signal, given: [id] }) {
  const written = liveText();
  const parts = [
    part(progress), part(requests), part(problem), written, part(result), items(id, signal),
  ];
  const aside = [part(facts), part(files), part(deliveries), timeline(id, signal)];
  const head = part(heading);
  const wait = el("p", { class: "empty", role: "status" }, t("loading"));
  root.append(head.root, wait, el("div", { class: "split" }, el("div", {}, parts.map((p) => p.root)), el("aside", {}, aside.map((p) => p.root))));

  let announced = "";
  let last = { revision: -1 };
  function show(v) {
    if (v.revision < last.revision || signal.aborted) return; // an older answer that came late
    last = v;
    wait.hidden = true;
    const [standingPart, asked, error, , made, itemsPart] = parts;
    head.update(pickHead(v), v.urls, v.status);
    standingPart.update({ status: v.status, done: v.done, outcome: v.outcome, progress: v.progress, waiting: v.waiting, retrying: v.retrying, stalled: v.stalled });
    asked.update(v.urls.input, v.done ? {} : v.input_requests || {}, !v.done && v.kind === "agent");
    error.update(v.error, v.dead_letter, v.id);
    made.update(...(v.done && v.outcome !== "none" ? [v.kind, v.id, v.result, v.result_ref, v.urls] : [null]));
    itemsPart.update(v);
    aside.slice(0, 3).forEach((p, i) => p.update(...[[v], [v.done ? v.urls.artifacts : null], [v.urls.deliveries, v.done]][i]));
    aside[3].update(v);
    if (v.done) written.end();
    announce(v);
  }

  // announce tells what a reader of the screen would see, and no more often than is bearable.
  function announce(v) {
    const tens = v.done ? "" : Math.floor((v.progress?.percent ?? 0) / 10) * 10;
    const text = named("status", v.status) + (tens ? `, ${tens}%` : "");
    if (text !== announced) say(announced = text);
  }

  watch(id, { onTask: show, onText: written.add, signal }).catch(() => {});
  ask("/v1/tasks/" + encodeURIComponent(id), { signal }).then(show, (p) => {
    if (signal.aborted) return;
    if (p.code === "not_found") head.root.replaceChildren(el("h1", {}, t("task.gone")));
    wait.replaceChildren(el("p", {}, p.detail || p.title), el("a", { href: "/" }, t("task.back"))); // until watch shows it
  });
}

const pickHead = ({ id, kind, headline, labels, created_at, simulated, replay_of, parent }) => ({ id, kind, headline, labels, created_at, simulated, replay_of, parent });

function heading(v, urls, status) {
  const from = (word, other) => other && el("a", { href: "/tasks/" + encodeURIComponent(other) }, t(word));
  return el("div", { class: "head" },
    el("div", { class: "grow" },
      el("a", { href: "/", class: "soft back" }, "← " + t("nav.tasks")),
      el("h1", {}, named("kind", v.kind)), v.headline && el("p", { class: "headline" }, v.headline),
      el("p", { class: "soft meta" }, el("code", { id: "task-id" }, v.id), since(v.created_at), from("task.replayof", v.replay_of), from("task.parent", v.parent),
        Object.entries(v.labels || {}).map(([k, x]) => el("a", { class: "tag", href: "/?" + new URLSearchParams({ label: `${k}:${x}` }) }, `${k}: ${x}`)),
        v.simulated && el("span", { class: "tag warn" }, t("task.simulated")))),
    actions(v, urls, status));
}

function progress(v) {
  const { counts = {}, message, step_index, step_count } = v.progress || {};
  const numbers = ["succeeded", "failed", "cancelled", "running", "pending"].filter((k) => counts[k]).map((k) =>
    el("li", { class: k }, el("b", {}, number(counts[k])), t("counts." + k)));
  return el("section", { class: "card standing" },
    el("div", { class: "line" }, stateOf(v), el("span", { class: "soft", id: "standing" }, standing(v)),
      !v.done && step_index > 0 && el("span", { class: "soft" }, t("task.step", { n: step_index, of: step_count }))),
    bar(v), message && el("p", {}, message), troubleLines(v),
    numbers.length > 0 && el("ul", { class: "counts" }, numbers));
}

// problem says what went wrong, why, and what to do. Of a dead letter the API knows the last two; it may be one only
// because some of its items are.
function problem(error, dead, id) {
  const advice = el("div", {});
  if (dead) {
    ask("/v1/dead-letters/" + encodeURIComponent(id)).then((letter) => advice.append(...diagnosis(letter),
      el("p", {}, el("a", { href: "/dead-letters?" + new URLSearchParams({ fingerprint: letter.failures?.[0]?.fingerprint || "" }) }, t("dead.alike")))), () => {});
  }
  return error ? failure(error, advice) : dead && el("section", { class: "card note bad failure" }, el("h2", {}, t("dead.some")), advice);
}

// diagnosis is why something failed, and what mends it.
export const diagnosis = ({ cause, fix }) => [cause && el("p", {}, el("b", {}, t("error.cause")), " ", told(cause)), fix && el("p", {}, el("b", {}, t("error.fix")), " ", told(fix))].filter(Boolean);

// failure shows an error, with what can be said about it.
export function failure(error, ...advice) {
  const p = error.provider;
  return el("section", { class: "card note bad failure" }, el("h2", {}, titled(error)), el("p", { class: "pre" }, error.detail), advice,
    el("p", { class: "soft" }, [error.code, error.step && t("error.step", { step: named("step", error.step) }), error.attempts && t("error.attempts", { n: error.attempts }),
      p?.name && [p.name, p.status || null, p.code, p.request_id].filter(Boolean).join(" "), t(error.retryable ? "error.again" : "error.final")].filter(Boolean).join(" · ")));
}
