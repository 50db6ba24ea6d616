// What both pages use. Text goes into the page as text, never as markup.

export const byId = (id) => document.getElementById(id);

// el makes an element; children are elements or strings, and what is null or undefined is left out.
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// key is the reader's API key, kept until the tab is closed; none is null.
export const key = {
  get: () => sessionStorage.getItem("key"),
  set: (value) => sessionStorage.setItem("key", value),
};

// ask reads JSON from the API with the reader's key; a refusal is thrown as the problem it is.
export async function ask(path) {
  const answer = await fetch(path, { headers: key.get() ? { Authorization: "Bearer " + key.get() } : {} });
  const body = await answer.json();
  if (!answer.ok) throw body;
  return body;
}

// curl is a request as a command line; a body is sent as JSON. The key itself is never shown.
export function curl(method, path, { body, form = [] } = {}) {
  const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";
  const words = ["curl"];
  if (method !== (body || form.length ? "post" : "get")) words.push("-X " + method.toUpperCase());
  words.push(location.origin + path.replace(/{(\w+)}/g, (_, name) => name.toUpperCase()));
  if (key.get()) words.push('-H "Authorization: Bearer $LONGHAUL_KEY"');
  words.push(...form.map((field) => `-F ${field}=@FILE`));
  if (body) words.push("-H 'Content-Type: application/json'", "-d " + quoted(JSON.stringify(body, null, 2)));
  return el("pre", {}, words.join(" "));
}
