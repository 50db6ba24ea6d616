// The page that starts a task: a form for its kind, or the body itself as JSON.

import { ask, post, Problem } from "/ui/api.js";
import { el, say } from "/ui/dom.js";
import { blame, object } from "/ui/form.js";
import { named, t, titled, told } from "/ui/i18n.js";
import { go } from "/ui/routes.js";

export async function create({ root, signal, given: [chosen] }) {
  root.append(el("div", { class: "head" }, el("h1", {}, t("nav.new"))));
  const wait = el("p", { class: "empty" }, t("loading"));
  root.append(wait);
  try {
    const [kinds, spec] = await Promise.all([ask("/v1/kinds", { signal }), ask("/openapi.json", { signal })]);
    const kind = kinds.data.find((k) => k.name === chosen) || kinds.data[0];
    wait.replaceWith(chooser(kinds.data, kind), sheet(kind, options(spec, kind.name)));
  } catch (problem) {
    if (!signal.aborted) wait.replaceChildren(el("span", { class: "bad" }, problem.detail || problem.message));
  }
}

const chooser = (kinds, current) => el("nav", { class: "kinds", "aria-label": t("form.kind") }, kinds.map((k) =>
  el("a", { href: "/new/" + k.name, "aria-current": k.name === current.name ? "page" : null }, el("b", {}, named("kind", k.name)), el("span", {}, told(k.title)))));

// options are what the API takes beside the kind and its input, as its own description tells.
function options(spec, kind) {
  const { kind: _, input: __, ...rest } = spec.components.schemas[kind + "_task"]?.properties || {};
  const plain = (s) => (s.$ref ? plain(spec.components.schemas[s.$ref.split("/").pop()]) : s);
  return { type: "object", properties: Object.fromEntries(Object.entries(rest).map(([k, s]) => [k, plain(s)])) };
}

// sheet is the form with its two faces: fields, and the JSON that they amount to.
function sheet(kind, more) {
  const schema = typeof kind.input_schema === "string" ? JSON.parse(kind.input_schema) : kind.input_schema;
  const input = object("input", schema, { bare: true, required: true, folds: "settings" });
  const extra = object("options", more, { bare: true, required: true, folds: "open" });
  const editor = el("textarea", { class: "code", rows: 22, spellcheck: "false", "aria-label": "JSON" });
  const faces = { form: el("div", { class: "face" }, input.node, el("details", { class: "minor card" }, el("summary", {}, t("form.options")), extra.node)), json: el("div", { class: "face", hidden: true }, editor) };
  const refusal = el("div", { class: "note bad", hidden: true, role: "alert" });
  let places = new Map();
  let face = "form";
  let sent = { text: "", key: "" };

  // body reads the form; places remembers which field stands for which part of it.
  function body() {
    if (face === "json") return JSON.parse(editor.value);
    places = new Map();
    const options = extra.value("", places);
    places.delete("");
    return { kind: kind.name, input: input.value("/input", places), ...options };
  }

  function fill(whole) {
    const { kind: _, input: value, ...options } = whole;
    input.set(value || {});
    extra.set(options);
  }

  function turn(next) {
    if (next === face) return;
    try {
      if (next === "json") editor.value = JSON.stringify(body(), null, 2);
      else fill(body());
    } catch (error) {
      return refuse(new Problem({ code: "", title: t("form.badjson"), detail: error.message }));
    }
    face = next;
    refusal.hidden = true;
    for (const [name, node] of Object.entries(faces)) node.hidden = name !== face;
    tabs.forEach((tab) => tab.setAttribute("aria-selected", tab.dataset.face === face));
  }

  function refuse(problem) {
    const homeless = face === "form" ? blame(problem, places) : (problem.errors || []).map((e) => `${e.pointer} ${e.detail}`);
    refusal.hidden = false;
    refusal.replaceChildren(el("b", {}, titled(problem)), el("p", {}, problem.errors?.length && !homeless.length ? t("form.see") : problem.detail),
      homeless.length > 0 && el("ul", {}, homeless.map((text) => el("li", {}, text))) || "");
  }

  // The same body is sent under the same key, so that it starts one task however often it is sent.
  async function send(event) {
    event.preventDefault();
    submit.disabled = true;
    try {
      const whole = body();
      const text = JSON.stringify(whole);
      if (sent.text !== text) sent = { text, key: Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("") };
      const task = await post("/v1/tasks", whole, { "Idempotency-Key": sent.key });
      say(t("form.sent"));
      go("/tasks/" + encodeURIComponent(task.id));
    } catch (error) {
      refuse(error instanceof SyntaxError ? new Problem({ code: "", title: t("form.badjson"), detail: error.message }) : error);
    } finally {
      submit.disabled = false;
    }
  }

  const tabs = ["form", "json"].map((name) => el("button", { type: "button", role: "tab", "data-face": name, "aria-selected": name === "form", onclick: () => turn(name) }, t("form.face." + name)));
  const submit = el("button", { class: "main", id: "submit" }, t("form.send"));
  const example = el("button", { type: "button", class: "quiet", id: "example", onclick: () => (face === "json" ? editor.value = JSON.stringify(kind.example, null, 2) : fill(kind.example)) }, t("form.example"));
  return el("form", { class: "card sheet", novalidate: true, onsubmit: send },
    el("p", { class: "soft" }, told(kind.description)),
    el("div", { class: "tabs" }, el("div", { role: "tablist" }, tabs), example), faces.form, faces.json, refusal, el("div", { class: "foot" }, submit));
}
