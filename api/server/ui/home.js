import { ask, byId, curl, el, key } from "/ui/page.js";

const every = 3000; // milliseconds between two looks at the tasks

const reasons = { start_time: "waits for its start time", no_worker: "waits for a worker", rate_limit: "waits for a rate limit" };

const moment = (text) => new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

// standing says in a line what is done, what is left, and what is in the way.
function standing(task) {
  const { counts, eta, step } = task.progress;
  const parts = [];
  if (!task.done && step) parts.push(step);
  if (counts.total) parts.push(`${counts.succeeded} of ${counts.total}` + (counts.failed ? `, ${counts.failed} failed` : ""));
  if (!task.done && eta) parts.push(`about ${eta.seconds} s left`);
  if (task.waiting) parts.push((reasons[task.waiting.reason] || task.waiting.reason) + (task.waiting.until ? ", until " + moment(task.waiting.until) : ""));
  if (task.retrying) parts.push(`tries again: ${task.retrying.step}, attempt ${task.retrying.attempt}: ${task.retrying.last_error}`);
  return parts.join(" · ");
}

function bar(task) {
  const percent = task.progress.percent;
  if (percent === null || (task.done && task.status !== "succeeded")) return null;
  return el("div", { class: "bar" }, el("progress", { max: 100, value: percent, "aria-label": "progress" }), ` ${percent}%`);
}

// row links to the task only where the browser can open it: a link carries no key.
function row(task) {
  const id = el("code", {}, task.id);
  const labels = Object.entries(task.labels || {}).map(([k, v]) => ` · ${k}=${v}`);
  return el("tr", {},
    el("td", {}, key.get() ? id : el("a", { href: task.urls.self }, id),
      el("div", { class: "soft" }, task.kind, " · ", el("time", { datetime: task.created_at }, moment(task.created_at)), ...labels)),
    el("td", {}, el("span", { class: task.status }, task.status.replace("_", " ") + (task.outcome === "partial" ? " (partial)" : "")),
      task.urls.temporal ? el("div", {}, el("a", { href: task.urls.temporal }, "in Temporal")) : null),
    el("td", {}, bar(task), standing(task), task.error ? el("div", { class: task.status }, task.error.detail) : null));
}

function table(rows) {
  const heads = ["Task", "Status", "Progress"];
  return el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((h) => el("th", {}, h)))), el("tbody", {}, ...rows));
}

let shown; // the tasks in the page: what has not changed is left alone, so that it can be selected

function show(tasks) {
  if (JSON.stringify(tasks) === shown) return;
  shown = JSON.stringify(tasks);
  byId("tasks").replaceChildren(...(tasks.length ? [table(tasks.map(row))] : []));
}

async function refresh() {
  try {
    const page = await ask("/v1/tasks?limit=50");
    byId("login").hidden = true;
    byId("note").textContent = page.next_cursor ? "These are the first 50; the API lists them all." : "";
    if (!page.data.length) byId("note").textContent = "No tasks yet. Try: longhaul submit summary report.pdf --watch";
    show(page.data);
  } catch (problem) {
    byId("note").textContent = problem.detail || "The API does not answer; trying again.";
    if (problem.code === "unauthorized") {
      byId("login").hidden = false;
      show([]);
    }
  }
}

async function showKinds() {
  try {
    const page = await ask("/v1/kinds");
    byId("kinds").replaceChildren(...page.data.map((kind) => el("details", {},
      el("summary", {}, el("code", {}, kind.name), " ", kind.title),
      el("p", {}, kind.description),
      curl("post", "/v1/tasks", { body: kind.example }))));
  } catch { /* refresh has said why */ }
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(byId("key").value.trim());
  refresh();
  showKinds();
});

let timer;

async function go() {
  if (!document.hidden) await refresh();
  clearTimeout(timer);
  timer = setTimeout(go, every);
}

document.addEventListener("visibilitychange", go);
go();
showKinds();
