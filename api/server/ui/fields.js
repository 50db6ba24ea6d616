// The simple fields of a form that is drawn from a JSON Schema. A field is {node, value(at, places), set(value)}:
// value gives undefined for what was left out, and notes under its JSON Pointer where an error is to be shown.

import { el } from "/ui/dom.js";
import { named, number, t, told } from "/ui/i18n.js";

let count = 0;

const long = 300; // characters from which a text gets room for several lines

// bounds tells the limits of a value that a reader cannot guess.
function bounds(s) {
  const parts = [];
  if (s.minimum !== undefined && s.maximum !== undefined) parts.push(t("bounds.between", { from: number(s.minimum), to: number(s.maximum) }));
  if (s.default !== undefined && s.type !== "boolean") parts.push(t("bounds.default", { value: s.default }));
  return parts;
}

// hint is what the schema says of a field, in the reader's language where there are words for it.
export const hint = (s) => [told(s.description || ""), ...bounds(s)].filter(Boolean).join(" · ");

// framed puts a label, a hint and a place for errors around an input.
function framed(name, s, { required = false, inline = false, label } = {}, input) {
  const id = `f${++count}`;
  const note = hint(s);
  const fault = el("p", { class: "fault", id: id + "-fault", hidden: true });
  const caption = el("label", { for: id }, label ?? named("field", name), required && el("span", { class: "must", title: t("form.required") }, " *"));
  input.id = id;
  input.name = name;
  input.setAttribute("aria-describedby", `${id}-hint ${id}-fault`);
  if (required) input.setAttribute("aria-required", "true");
  const explained = el("p", { class: "hint", id: id + "-hint" }, note);
  const node = inline ? el("div", { class: "field tick" }, input, el("div", {}, caption, explained, fault)) : el("div", { class: "field" }, caption, input, explained, fault);
  return { node, blame: blamer(input, fault) };
}

// blamer shows an error at an input, or takes it away.
export const blamer = (input, fault) => (text) => {
  fault.textContent = text || "";
  fault.hidden = !text;
  input.toggleAttribute("aria-invalid", Boolean(text));
};

// leaf makes a field of one input. read turns what is in it into a value, show the other way round.
function leaf(name, s, how, input, read, show = (v) => { input.value = v ?? ""; }) {
  const { node, blame } = framed(name, s, how, input);
  return {
    node,
    set: show,
    value(at, places) {
      places.set(at, blame);
      return read();
    },
  };
}

const text = (input) => input.value.trim() === "" ? undefined : input.value;

function words(name, s, how) {
  const big = s.maxLength === undefined ? name === "text" : s.maxLength > long && s.format !== "uri" && !/url/.test(name);
  const input = big ? el("textarea", { rows: name === "name" ? 1 : 3 }) : el("input", { type: name === "password" ? "password" : "text", autocomplete: "off", spellcheck: "false" });
  if (s.format === "uri" || /url$/.test(name)) { input.inputMode = "url"; input.placeholder = "https://"; }
  if (s.example || s.examples) input.placeholder = s.example || s.examples[0];
  return leaf(name, s, how, input, () => text(input));
}

// when is a moment: in the form in local time, in the body with its offset.
function when(name, s, how) {
  const input = el("input", { type: "datetime-local" });
  const show = (v) => { input.value = v ? new Date(new Date(v) - new Date(v).getTimezoneOffset() * 60000).toISOString().slice(0, 16) : ""; };
  return leaf(name, s, how, input, () => input.value ? new Date(input.value).toISOString() : undefined, show);
}

function figure(name, s, how) {
  const input = el("input", { type: "number", min: s.minimum, max: s.maximum, step: s.type === "integer" ? 1 : "any", placeholder: s.default });
  return leaf(name, s, how, input, () => input.value === "" ? undefined : Number(input.value));
}

function tick(name, s, how) {
  const input = el("input", { type: "checkbox", checked: s.default === true });
  const show = (v) => { input.checked = v ?? s.default === true; };
  return leaf(name, s, { ...how, inline: true }, input, () => input.checked === (s.default === true) ? undefined : input.checked, show);
}

function choice(name, s, how) {
  const none = how.required ? [] : [el("option", { value: "" }, s.default === undefined ? t("form.none") : t("form.default", { value: named("value", s.default) }))];
  const input = el("select", {}, none, s.enum.map((v) => el("option", { value: v }, named("value", v))));
  return leaf(name, s, how, input, () => input.value || undefined);
}

// json is for what has no form of its own: any JSON. What is no JSON is sent as the text it is, and refused.
function json(name, s, how) {
  const input = el("textarea", { rows: 4, class: "code", spellcheck: "false", placeholder: "{ }" });
  const read = () => {
    if (!input.value.trim()) return undefined;
    try { return JSON.parse(input.value); } catch { return input.value; }
  };
  return leaf(name, s, how, input, read, (v) => { input.value = v === undefined ? "" : JSON.stringify(v, null, 2); });
}

// lines is a list of anything: a line is one of it, JSON if it can be read as an object or list, else text.
function lines(name, s, how) {
  const input = el("textarea", { rows: 6, class: "code", spellcheck: "false" });
  const one = (line) => {
    try { return /^[[{"]/.test(line.trim()) ? JSON.parse(line) : line; } catch { return line; }
  };
  const read = () => {
    const all = input.value.split("\n").filter((line) => line.trim()).map(one);
    return all.length ? all : undefined;
  };
  return leaf(name, s, how, input, read, (v) => { input.value = (v || []).map((x) => (typeof x === "string" ? x : JSON.stringify(x))).join("\n"); });
}

// pairs is a map of texts, one "key: value" a line.
function pairs(name, s, how) {
  const input = el("textarea", { rows: 2, spellcheck: "false", placeholder: t("form.pairs") });
  const read = () => {
    const all = input.value.split("\n").filter((line) => line.trim()).map((line) => line.match(/^\s*([^:=]+?)\s*[:=]\s*(.*?)\s*$/)?.slice(1) || [line.trim(), ""]);
    return all.length ? Object.fromEntries(all) : undefined;
  };
  return leaf(name, s, how, input, read, (v) => { input.value = Object.entries(v || {}).map(([k, x]) => `${k}: ${x}`).join("\n"); });
}

// simple makes the field of a schema that is neither a list of forms nor a form itself.
export function simple(name, s, how) {
  const type = [].concat(s.type || "").find((one) => one !== "null");
  if (s.enum) return choice(name, s, how);
  if (type === "boolean") return tick(name, s, how);
  if (type === "integer" || type === "number") return figure(name, s, how);
  if (type === "array") return lines(name, s, how);
  if (type === "object" && s.additionalProperties?.type === "string") return pairs(name, s, how);
  if (type === "string") return s.format === "date-time" ? when(name, s, how) : words(name, s, how);
  return json(name, s, how);
}
