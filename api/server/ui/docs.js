import { ask, curl } from "/ui/api.js";
import { byId, el } from "/ui/dom.js";

let doc;

const nameOf = (ref) => ref.split("/").pop();

// typeOf says in a few words what a schema allows; objects link to their description.
function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return el("a", { href: "#" + nameOf(schema.$ref) }, nameOf(schema.$ref));
  const several = schema.oneOf || schema.anyOf;
  if (several && several.some((s) => s.$ref || s.type)) return el("span", {}, ...several.flatMap((s, i) => (i ? [" or ", typeOf(s)] : [typeOf(s)])));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.join(" | ");
  const type = [].concat(schema.type || "anything").join(" or ");
  return schema.type === "array" ? el("span", {}, "list of ", typeOf(schema.items)) : type;
}

function bounds(schema) {
  const words = { minimum: "at least", maximum: "at most", minLength: "min. length", maxLength: "max. length", minItems: "min. entries", maxItems: "max. entries", maxProperties: "max. fields", pattern: "pattern", format: "", default: "default", examples: "such as" };
  const told = ([k]) => schema[k] !== undefined && schema[k] !== "" && !/^(int|double|float)/.test(schema[k]);
  const parts = Object.entries(words).filter(told).map(([k, w]) => `${w} ${schema[k]}`.trim());
  return parts.length ? ", " + parts.join(", ") : "";
}

function field(name, schema, required, place = "") {
  const inner = schema.type === "array" ? schema.items : schema;
  const line = el("div", { class: "field" },
    el("code", {}, name), " ", el("span", { class: "soft" }, place, typeOf(schema), bounds(schema), required ? ", required" : ""),
    schema.description ? el("div", {}, schema.description) : null);
  if (inner && inner.properties) line.append(fields(inner));
  return line;
}

function fields(schema) {
  const required = schema.required || [];
  return el("div", {}, ...Object.entries(schema.properties || {}).map(([name, s]) => field(name, s, required.includes(name))));
}

function body(content) {
  return Object.entries(content || {}).map(([type, media]) => el("div", { class: "field" }, el("code", {}, type), " ", typeOf(media.schema), fields(media.schema)));
}

// examples are command lines: one for each example of a body, and one at least.
function examples(method, path, op) {
  const content = op.requestBody?.content || {};
  const bodies = Object.values(content["application/json"]?.examples || {}).map((x) => x.value);
  const form = Object.keys(content["multipart/form-data"]?.schema.properties || {});
  return bodies.length ? bodies.map((body) => curl(method, path, { body })) : [curl(method, path, { form })];
}

function operation(method, path, op) {
  const parts = examples(method, path, op);
  if (op.parameters) parts.push(el("h3", {}, "Parameters"), ...op.parameters.map((p) => field(p.name, { ...p.schema, description: p.description || p.schema.description }, p.required, `in the ${p.in}: `)));
  if (op.requestBody) parts.push(el("h3", {}, "Body"), ...body(op.requestBody.content));
  parts.push(el("h3", {}, "Answers"));
  for (const [status, answer] of Object.entries(op.responses)) {
    parts.push(el("div", { class: "field" }, el("code", {}, status), " ", answer.description, ...body(answer.content)));
  }
  return el("details", { id: op.operationId },
    el("summary", {}, el("span", { class: "method" }, method.toUpperCase()), " ", el("code", {}, path), " ", el("span", { class: "soft" }, op.summary)), ...parts);
}

// byRank sorts by the place in a list; what is not in it comes last.
const byRank = (list, of) => (a, b) => (list.indexOf(of(a)) + list.length + 1) % (list.length + 1) - (list.indexOf(of(b)) + list.length + 1) % (list.length + 1);

function showOperations() {
  const all = Object.entries(doc.paths).flatMap(([path, methods]) => Object.entries(methods)
    .filter(([, op]) => op.responses)
    .sort(byRank(["post", "get", "delete"], ([method]) => method))
    .map(([method, op]) => ({ group: op.tags[0], shown: operation(method, path, op) })));
  const groups = [...Map.groupBy(all, (o) => o.group)].sort(byRank(["tasks", "files", "kinds", "limits"], ([group]) => group));
  byId("operations").replaceChildren(...groups.flatMap(([group, some]) => [el("h2", { class: "name" }, group), ...some.map((o) => o.shown)]));
}

function showObjects() {
  byId("objects").replaceChildren(...Object.entries(doc.components.schemas).map(([name, schema]) => el("details", { id: name },
    el("summary", {}, el("code", {}, name), " ", el("span", { class: "soft" }, schema.title || "")),
    schema.description ? el("p", {}, schema.description) : null, fields(schema))));
}

function showAbout() {
  const ways = Object.values(doc.components.securitySchemes || {}).map((s) => (s.type === "http" ? "Authorization: Bearer KEY" : s.name + ": KEY"));
  byId("about").textContent = doc.info.description + (ways.length ? ` A key is sent as ${ways.join(" or ")}.` : "");
}

// openTarget unfolds what the address points at.
function openTarget() {
  const target = byId(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

try {
  doc = await ask("/openapi.json");
  showAbout();
  showOperations();
  showObjects();
  openTarget();
  addEventListener("hashchange", openTarget);
} catch {
  byId("about").textContent = "The description of the API could not be loaded. Reload to try again.";
}
