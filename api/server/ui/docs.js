import { ask, byId, el } from "/ui/page.js";

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
  const words = { minimum: "at least", maximum: "at most", minLength: "min. length", maxLength: "max. length", minItems: "min. entries", maxItems: "max. entries", maxProperties: "max. fields", pattern: "pattern", format: "", default: "default" };
  return Object.entries(words).filter(([k]) => schema[k] !== undefined && schema[k] !== "").map(([k, w]) => `${w} ${schema[k]}`.trim()).join(", ");
}

function field(name, schema, required) {
  const inner = schema.type === "array" ? schema.items : schema;
  const line = el("div", { class: "field" },
    el("code", {}, name), required ? " (required) " : " ", el("span", { class: "soft" }, typeOf(schema), " ", bounds(schema)),
    schema.description ? el("div", {}, schema.description) : "");
  if (inner && inner.properties) line.append(fields(inner));
  return line;
}

function fields(schema) {
  const required = schema.required || [];
  return el("div", {}, ...Object.entries(schema.properties || {}).map(([name, s]) => field(name, s, required.includes(name))));
}

function body(content) {
  return Object.entries(content || {}).map(([type, media]) => el("div", { class: "field" },
    el("code", {}, type), " ", typeOf(media.schema),
    ...Object.values(media.examples || {}).map((x) => el("pre", {}, JSON.stringify(x.value, null, 2)))));
}

function operation(method, path, op) {
  const parts = [];
  if (op.parameters) parts.push(el("h3", {}, "Parameters"), ...op.parameters.map((p) => field(p.name, { ...p.schema, description: `${p.in}: ${p.description || p.schema.description || ""}` }, p.required)));
  if (op.requestBody) parts.push(el("h3", {}, "Body"), ...body(op.requestBody.content));
  parts.push(el("h3", {}, "Answers"));
  for (const [status, answer] of Object.entries(op.responses)) {
    parts.push(el("div", { class: "field" }, el("code", {}, status), " ", answer.description, ...body(answer.content)));
  }
  return el("details", { id: op.operationId },
    el("summary", {}, el("span", { class: "method" }, method.toUpperCase()), el("code", {}, path), " ", el("span", { class: "soft" }, op.summary)), ...parts);
}

function showOperations() {
  const groups = new Map();
  for (const [path, methods] of Object.entries(doc.paths)) {
    for (const [method, op] of Object.entries(methods)) {
      if (!op.responses) continue;
      const group = op.tags[0];
      groups.set(group, [...(groups.get(group) || []), operation(method, path, op)]);
    }
  }
  const order = ["tasks", "files", "kinds", "limits"];
  const rank = (g) => (order.indexOf(g) + order.length + 1) % (order.length + 1);
  const sorted = [...groups].sort(([a], [b]) => rank(a) - rank(b));
  byId("operations").replaceChildren(...sorted.flatMap(([group, operations]) => [el("h2", {}, group), ...operations]));
}

function showObjects() {
  byId("objects").replaceChildren(...Object.entries(doc.components.schemas).map(([name, schema]) => el("details", { id: name },
    el("summary", {}, el("code", {}, name), " ", el("span", { class: "soft" }, schema.title || "")),
    schema.description ? el("p", {}, schema.description) : "", fields(schema))));
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
  byId("about").textContent = doc.info.description;
  showOperations();
  showObjects();
  openTarget();
  addEventListener("hashchange", openTarget);
} catch {
  byId("about").textContent = "The description of the API could not be loaded. Reload to try again.";
}
