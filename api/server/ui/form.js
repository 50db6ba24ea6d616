// Draws a form from a JSON Schema: objects, choices between their properties, lists, and simple fields.

import { el, icon } from "/ui/dom.js";
import { blamer, hint, simple } from "/ui/fields.js";
import { drop } from "/ui/files.js";
import { named, t } from "/ui/i18n.js";

let count = 0;

// field makes the field of a schema.
export function field(name, s, how = {}) {
  if (name === "file_id") return drop(s);
  if (s.type === "object" && s.properties) return how.required || how.bare ? object(name, s, how) : optional(name, s, how);
  if (s.type === "array" && (s.items?.properties || s.items?.type === "string") && !s.items.enum) return list(name, s, how);
  return simple(name, s, how);
}

// alternatives are the properties of which exactly one is given, as oneOf says it.
const alternatives = (s) => (s.oneOf || []).map((one) => one.required?.[0]).filter(Boolean);

// object is a form of several fields. Of its alternatives one is chosen; only that is shown and sent.
export function object(name, s, how = {}) {
  const either = alternatives(s);
  const make = ([key, sub]) => [key, field(key, sub, { required: s.required?.includes(key) || either.includes(key) })];
  const fields = new Map(Object.entries(s.properties).map(make));
  const boxes = new Map([...fields].map(([key, f]) => [key, el("div", { hidden: either.length > 0 && either.includes(key) && key !== first(s, either) }, f.node)]));
  const picker = either.length ? pick(either, first(s, either), (chosen) => either.forEach((key) => { boxes.get(key).hidden = key !== chosen; })) : null;
  const minor = (key) => how.folds && !either.includes(key) && !s.required?.includes(key) && (how.folds !== "settings" || setting(s.properties[key]));
  const main = [...boxes].filter(([key]) => !minor(key)).map(([, box]) => box);
  const rest = [...boxes].filter(([key]) => minor(key)).map(([, box]) => box);
  const fault = el("p", { class: "fault", hidden: true });
  const node = el("fieldset", { class: how.bare ? "bare" : "group" }, !how.bare && el("legend", {}, named("field", name)),
    picker?.node, main, rest.length > 0 && (how.folds === "open" ? el("div", { class: "grid" }, rest) : el("details", { class: "minor" }, el("summary", {}, t("form.more")), rest)), fault);
  return {
    node,
    set(value) {
      picker?.choose(either.find((key) => value?.[key] !== undefined) || picker.chosen());
      for (const [key, f] of fields) f.set(value?.[key]);
      const folded = node.querySelector(":scope > details");
      if (folded) folded.open = [...boxes].some(([key]) => minor(key) && value?.[key] !== undefined);
    },
    value(at, places) {
      places.set(at, blamer(node, fault));
      const out = {};
      for (const [key, f] of fields) {
        if (either.includes(key) && key !== picker.chosen()) continue;
        const v = f.value(`${at}/${key}`, places);
        if (v !== undefined) out[key] = v;
      }
      return out;
    },
  };
}

// setting tells what most readers leave as it is from what they came to say: texts, lists and files.
const setting = (s) => s.type !== "array" && !(s.type === "string" && !s.enum) && !s.properties;

// first is the alternative that a form begins with: what needs no preparation.
const first = (s, either) => ["documents", "prompt", "file", "builtin", "text", "file_id"].find((key) => either.includes(key)) || either[0];

// pick is a row of radio buttons.
function pick(keys, start, change) {
  const group = `pick${++count}`;
  let chosen = start;
  const radios = keys.map((key) => el("input", { type: "radio", name: group, value: key, checked: key === start, onchange: () => choose(key) }));
  function choose(key) {
    chosen = key;
    radios.forEach((radio) => { radio.checked = radio.value === key; });
    change(key);
  }
  const node = el("div", { class: "pick", role: "radiogroup" }, radios.map((radio) => el("label", {}, radio, el("span", {}, named("pick", radio.value)))));
  return { node, choose, chosen: () => chosen };
}

// optional is an object that is only sent once it has been opened.
function optional(name, s, how) {
  const inner = object(name, s, { ...how, bare: true });
  const node = el("details", { class: "group" }, el("summary", {}, named("field", name), " ", el("span", { class: "soft" }, hint(s))), inner.node);
  return {
    node,
    set(value) { node.open = value !== undefined; inner.set(value); },
    value: (at, places) => (node.open ? inner.value(at, places) : undefined),
  };
}

// list is a list of fields that grows and shrinks. Files dropped on a list of documents become entries of it.
function list(name, s, how) {
  let entries = [];
  const box = el("ol", { class: "entries" });
  const fault = el("p", { class: "fault", hidden: true });
  const add = el("button", { type: "button", class: "quiet add", onclick: () => put().node.querySelector("input:not([type=radio]), textarea, select")?.focus() }, icon("plus"), t("form.add", { what: named("one", name) }));
  const takesFiles = Boolean(s.items.properties?.file_id);
  function put(value) {
    const inner = s.items.properties ? object(name, s.items, { bare: true, folds: alternatives(s.items).length && "closed" }) : simple(name, { ...s.items, maxLength: s.items.maxLength }, { label: named("one", name) });
    const node = el("li", { class: "entry" }, inner.node, el("button", { type: "button", class: "quiet remove", title: t("form.remove"), "aria-label": t("form.remove"), onclick: () => take(entry) }, icon("close")));
    const entry = { node, inner };
    if (value !== undefined) inner.set(value);
    entries.push(entry);
    box.append(node);
    return entry;
  }
  function take(entry) {
    entries = entries.filter((e) => e !== entry);
    entry.node.remove();
  }
  const dropped = takesFiles ? drop({}, (file) => put({ file_id: file.id, name: file.name })) : null;
  const node = el("fieldset", { class: "group" }, el("legend", {}, named("field", name), how.required && el("span", { class: "must" }, " *")),
    el("p", { class: "hint" }, hint(s)), dropped?.node, box, add, fault);
  if (how.required && !takesFiles) for (let n = Math.max(1, s.minItems || 1); n > 0; n--) put();
  return {
    node,
    set(values) { entries.slice().forEach(take); (values || []).forEach(put); },
    value(at, places) {
      places.set(at, blamer(node, fault));
      const out = [];
      for (const { inner } of entries) {
        const v = inner.value(`${at}/${out.length}`, places);
        if (v !== undefined) out.push(v);
      }
      return out.length || how.required ? out : undefined;
    },
  };
}

// blame shows the errors of a refusal at their fields, or at the nearest field around them. It gives those that
// belong to no field, and puts the first one into view.
export function blame(problem, places) {
  places.forEach((show) => show(""));
  const homeless = [];
  for (const { pointer, detail } of problem.errors || []) {
    let at = pointer;
    while (at && !places.has(at)) at = at.slice(0, at.lastIndexOf("/"));
    if (!at || at === "/input") homeless.push(`${pointer} ${detail}`);
    else places.get(at)(at === pointer ? detail : `${pointer.slice(at.length + 1)}: ${detail}`);
  }
  const blamed = document.querySelectorAll("main [aria-invalid]");
  for (const one of blamed) for (let fold = one; (fold = fold.parentElement.closest("details")); ) fold.open = true;
  blamed[0]?.scrollIntoView({ block: "center" });
  blamed[0]?.focus({ preventScroll: true });
  return homeless;
}
