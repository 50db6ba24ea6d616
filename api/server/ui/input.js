// What a task asks a person: calls to approve or deny, questions to answer; and messages to an agent at work.

import { run } from "/ui/actions.js";
import { until } from "/ui/clock.js";
import { el } from "/ui/dom.js";
import { t } from "/ui/i18n.js";

let count = 0;

// requests draws a card for each request, and one for messages where the task listens to them.
export function requests(url, open, hears) {
  if (!url) return null;
  const cards = Object.values(open).map((r) => (r.kind === "approval" ? approval(url, r) : question(url, r)));
  return hears ? [...cards, message(url)] : cards;
}

const area = (label, value = "", rows = 3, attributes = {}) => {
  const id = `in${++count}`;
  const field = el("textarea", { id, rows, ...attributes });
  field.value = value;
  return { field, node: el("div", { class: "field" }, el("label", { for: id }, label), field) };
};

const asked = (title, r, ...rest) => el("section", { class: "card note ask", "data-request": r.id }, el("h2", {}, title), rest,
  r.expires_at && el("p", { class: "soft" }, t("ask.expires"), " ", until(r.expires_at)));

function approval(url, r) {
  const given = JSON.stringify(r.arguments ?? {}, null, 2);
  const args = area(t("ask.arguments"), given, Math.min(12, given.split("\n").length + 1), { class: "code", spellcheck: "false" });
  const reason = area(t("ask.reason"), "", 2);
  const approve = (event) => {
    let changed;
    try { changed = args.field.value === given ? undefined : JSON.parse(args.field.value); } catch { return args.field.setAttribute("aria-invalid", ""); }
    return run(event.target, url, t("ask.approved"), { request: r.id, action: "approve", ...(changed && { arguments: changed }) });
  };
  const deny = (event) => run(event.target, url, t("ask.denied"), { request: r.id, action: "deny", ...(reason.field.value.trim() && { reason: reason.field.value.trim() }) });
  return asked(t("ask.approval", { tool: r.tool }), r, r.question && el("p", { class: "pre" }, r.question), args.node, reason.node,
    el("div", { class: "foot" }, el("button", { class: "danger", onclick: deny }, t("ask.deny")), el("button", { class: "main", onclick: approve }, t("ask.approve"))));
}

function question(url, r) {
  const answer = area(t("ask.answer"));
  const send = (event, text) => text.trim() && run(event.target, url, t("ask.answered"), { request: r.id, action: "answer", text });
  return asked(t("ask.question"), r, el("p", { class: "pre" }, r.question),
    r.choices?.length > 0 && el("div", { class: "choices" }, r.choices.map((c) => el("button", { onclick: (event) => send(event, c) }, c))),
    answer.node, el("div", { class: "foot" }, el("button", { class: "main", onclick: (event) => send(event, answer.field.value) }, t("ask.send"))));
}

function message(url) {
  const text = area(t("ask.message"), "", 2);
  const send = async (event) => {
    if (text.field.value.trim() && await run(event.target, url, t("ask.told"), { action: "message", text: text.field.value })) text.field.value = "";
  };
  return el("details", { class: "card minor" }, el("summary", {}, t("ask.tell")), text.node, el("div", { class: "foot" }, el("button", { onclick: send }, t("ask.send"))));
}
