// What both pages use. Text goes into the page as text, never as markup.

// el makes an element; children are elements or strings.
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// ask reads JSON from the API with the reader's key; a refusal is thrown as the problem it is.
export async function ask(path) {
  const key = sessionStorage.getItem("key");
  const answer = await fetch(path, { headers: key ? { Authorization: "Bearer " + key } : {} });
  const body = await answer.json();
  if (!answer.ok) throw body;
  return body;
}

export const byId = (id) => document.getElementById(id);
