// What a person can do with a task. A button is there when the state and the task's own addresses allow it.

import { post } from "/ui/api.js";
import { el, toast } from "/ui/dom.js";
import { t, titled } from "/ui/i18n.js";
import { go } from "/ui/routes.js";

const doing = ["scheduled", "pending", "processing", "input_required"];

export function actions(task, urls, status) {
  const done = ["succeeded", "failed", "cancelled"].includes(status);
  const act = (name, url, extra = "") => url && el("button", { id: name, class: extra, onclick: (event) => run(event.target, url, t(`act.${name}.done`)) }, t("act." + name));
  return el("div", { class: "actions" },
    doing.includes(status) && act("pause", urls.pause),
    status === "paused" && act("resume", urls.resume, "main"),
    !done && status !== "cancelling" && act("cancel", urls.cancel, "danger"),
    done && urls.replay && el("button", { id: "replay", class: "main", onclick: () => replay(urls.replay, true) }, t("act.replay")),
    urls.temporal && /^https?:/.test(urls.temporal) && el("a", { class: "button quiet", href: urls.temporal, target: "_blank", rel: "noopener" }, t("act.temporal")));
}

// run makes a request that a button stands for, and says what came of it.
export async function run(button, url, doneText, body) {
  button.disabled = true;
  try {
    const answer = await post(url, body);
    toast(doneText);
    return answer;
  } catch (problem) {
    toast(problem.detail || problem.message, "bad");
    return null;
  } finally {
    button.disabled = false;
  }
}

// replay asks what is to be done again and what is to be different, and opens the new task.
export function replay(url, ownTask, fixed = {}) {
  const scope = el("select", { id: "scope" }, ["failed", "all"].map((v) => el("option", { value: v }, t("replay." + v))));
  const model = el("input", { id: "replay-model", autocomplete: "off", placeholder: t("replay.same") });
  const budget = el("input", { id: "replay-budget", type: "number", min: 0, step: "any", placeholder: t("replay.same") });
  const input = el("textarea", { id: "replay-input", class: "code", rows: 4, spellcheck: "false", placeholder: "{ }" });
  const fault = el("div", { class: "note bad", hidden: true, role: "alert" });
  const bulk = ownTask ? null : [numeric("canary", 0, 1), numeric("per_minute", 1, 600)];
  const line = (id, field) => el("div", { class: "field" }, el("label", { for: id }, t("replay." + id.replace("replay-", ""))), field, el("p", { class: "hint" }, t(`replay.${id.replace("replay-", "")}.hint`)));

  async function send(event) {
    event.preventDefault();
    try {
      const overrides = { model: model.value.trim() || undefined, budget: budget.value ? Number(budget.value) : undefined, input: input.value.trim() ? JSON.parse(input.value) : undefined };
      const more = Object.fromEntries((bulk || []).filter((f) => f.value).map((f) => [f.id, Number(f.value)]));
      const changed = Object.values(overrides).some((v) => v !== undefined);
      const task = await post(url, { ...fixed, scope: scope.value, ...more, ...(changed && { overrides }) });
      dialog.close();
      go("/tasks/" + encodeURIComponent(task.id));
    } catch (problem) {
      fault.hidden = false;
      fault.replaceChildren(el("b", {}, problem instanceof SyntaxError ? t("form.badjson") : titled(problem)), el("p", {}, problem.detail || problem.message));
    }
  }

  const dialog = el("dialog", { "aria-labelledby": "replay-title", onclose: () => dialog.remove() },
    el("form", { onsubmit: send }, el("h2", { id: "replay-title" }, t(ownTask ? "replay.title" : "replay.bulk")), el("p", { class: "soft" }, t("replay.note")),
      line("scope", scope), bulk?.map((f) => line(f.id, f)),
      el("details", { class: "minor" }, el("summary", {}, t("replay.overrides")), line("replay-model", model), line("replay-budget", budget), line("replay-input", input)),
      fault, el("div", { class: "foot" }, el("button", { type: "button", onclick: () => dialog.close() }, t("cancel")), el("button", { class: "main", id: "replay-send" }, t("replay.send")))));
  document.body.append(dialog);
  dialog.showModal();
}

const numeric = (id, min, usual) => el("input", { id, type: "number", min, step: 1, placeholder: usual });
