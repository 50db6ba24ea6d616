// The bell: what has ended or needs a person since the page was opened.

import { el, icon, say } from "/ui/dom.js";
import { since } from "/ui/clock.js";
import { named, serverTime, t } from "/ui/i18n.js";

const most = 50; // notices kept
const opened = Date.now();
const known = new Map(); // status of the tasks that were under way when last heard of
let notices = [];
let unread = 0;
let badge, list;

const worthTelling = (task) => task.done || task.status === "input_required";

// task hears of a task that changed. What was over before the page was opened is no news.
function task(changed) {
  const before = known.get(changed.id);
  if (changed.done) known.delete(changed.id);
  else known.set(changed.id, changed.status);
  const fresh = before === undefined ? Date.parse(changed.finished_at || changed.created_at) > serverTime(opened) : before !== changed.status;
  if (!worthTelling(changed) || !fresh || notices.some((n) => n.id === changed.id && n.status === changed.status)) return;
  notices = [{ id: changed.id, kind: changed.kind, status: changed.status, at: new Date().toISOString() }, ...notices].slice(0, most);
  unread++;
  show();
  const text = `${named("kind", changed.kind)}: ${named("status", changed.status)}`;
  say(text);
  if (wanted() && document.hidden) new Notification("longhaul", { body: text, tag: changed.id });
}

const wanted = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem("notify") === "yes";

function show() {
  badge.textContent = unread ? String(Math.min(unread, 99)) : "";
  badge.hidden = !unread;
  list.replaceChildren(...(notices.length ? notices.map(line) : [el("li", { class: "soft" }, t("bell.none"))]));
}

const line = (n) => el("li", {}, el("a", { href: "/tasks/" + encodeURIComponent(n.id) },
  el("span", { class: "state " + n.status }, named("status", n.status)), " ", named("kind", n.kind)), el("span", { class: "soft" }, since(n.at)));

async function turnOn(event) {
  const on = event.target.checked && await Notification.requestPermission() === "granted";
  localStorage.setItem("notify", on ? "yes" : "no");
  event.target.checked = on;
}

// button draws the bell and the box that it opens.
function button() {
  badge = el("span", { class: "badge", hidden: true });
  list = el("ul", {});
  const box = el("div", { id: "notices", class: "box", popover: true, "aria-label": t("bell.title") },
    el("h2", {}, t("bell.title")), list,
    "Notification" in window && el("label", { class: "tick" }, el("input", { type: "checkbox", checked: wanted(), onchange: turnOn }), t("bell.browser")));
  box.addEventListener("toggle", (event) => { if (event.newState === "closed") { unread = 0; show(); } });
  box.addEventListener("click", (event) => event.target.closest("a") && box.hidePopover());
  const opener = el("button", { class: "quiet", id: "bell", popovertarget: "notices", title: t("bell.title"), "aria-label": t("bell.title") }, icon("bell"), badge);
  show();
  return [opener, box];
}

export const bell = { task, button };
