import { ask, byId, el } from "/ui/page.js";

const every = 3000; // milliseconds between two looks at the tasks

function left(task) {
  const { counts, eta, step } = task.progress;
  const parts = [];
  if (!task.done && step) parts.push(step);
  if (counts.total) parts.push(`${counts.succeeded} of ${counts.total}` + (counts.failed ? `, ${counts.failed} failed` : ""));
  if (!task.done && eta) parts.push(`about ${eta.seconds} s left`);
  if (task.waiting) parts.push(`waits: ${task.waiting.reason}`);
  if (task.error) parts.push(task.error.detail);
  return parts.join(" · ");
}

function row(task) {
  const percent = task.progress.percent;
  const bar = percent === null ? "" : el("progress", { max: 100, value: percent, title: percent + "%" });
  return el("tr", {},
    el("td", {}, el("code", {}, task.id)),
    el("td", {}, task.kind),
    el("td", { class: task.status }, task.status + (task.outcome === "partial" ? " (partial)" : "")),
    el("td", {}, bar),
    el("td", {}, left(task)),
    el("td", { class: "wide" }, new Date(task.created_at).toLocaleString()));
}

function table(heads, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((h) => el("th", {}, h)))), el("tbody", {}, ...rows));
}

async function refresh() {
  try {
    const page = await ask("/v1/tasks?limit=50");
    byId("login").hidden = true;
    byId("note").textContent = page.data.length ? "" : "No tasks yet. Try: longhaul submit summary report.pdf --watch";
    byId("tasks").replaceChildren(page.data.length ? table(["Id", "Kind", "Status", "Progress", "", "Created"], page.data.map(row)) : "");
  } catch (problem) {
    byId("login").hidden = problem.code !== "unauthorized";
    byId("note").textContent = problem.detail || "The API does not answer; trying again.";
  }
}

async function showKinds() {
  try {
    const page = await ask("/v1/kinds");
    byId("kinds").replaceChildren(...page.data.map((kind) => el("details", {},
      el("summary", {}, el("code", {}, kind.name), " ", kind.title),
      el("p", {}, kind.description),
      el("pre", {}, `curl -H 'Content-Type: application/json' ${location.origin}/v1/tasks -d '\n${JSON.stringify(kind.example, null, 2)}'`))));
  } catch { /* refresh has said why */ }
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", byId("key").value);
  refresh();
  showKinds();
});

async function go() {
  if (!document.hidden) await refresh();
  setTimeout(go, every);
}

go();
showKinds();
