// What talks to the API. The reader's key travels in a header, never in an address.

import { el } from "/ui/dom.js";
import { askForKey } from "/ui/key.js";
import { setClock, t } from "/ui/i18n.js";

// key is kept until the tab is closed; none is null.
export const key = {
  get: () => sessionStorage.getItem("key"),
  set: (value) => (value ? sessionStorage.setItem("key", value) : sessionStorage.removeItem("key")),
  header: () => (key.get() ? { Authorization: "Bearer " + key.get() } : {}),
};

// Problem is a refusal as RFC 9457 describes one: code, title, detail, errors[{pointer, detail}].
export class Problem extends Error {
  constructor(body) {
    super(body.detail || body.title || "");
    Object.assign(this, { code: "internal", title: "", detail: "", errors: [] }, body);
  }
}

// refusal is what came instead of what was asked for. A proxy in between sends no JSON, and HTTP/2 has no words for a status.
const refusal = (status, text, body) => new Problem({ title: text || "HTTP " + status, status, ...body });

const gone = () => new Problem({ code: "unreachable", title: t("problem.unreachable"), detail: t("problem.unreachable.detail") });

// lost is what becomes of an answer that does not come whole: the page that asked has been left, or the API is gone.
const lost = (error) => { throw error.name === "AbortError" ? error : gone(); };

// call makes a request. Where a key is needed it is asked for, once, and the request is made again.
export async function call(path, { method = "GET", body, headers = {}, signal } = {}) {
  for (;;) {
    const sent = { ...headers, ...key.header() };
    if (body !== undefined) sent["Content-Type"] = "application/json";
    const answer = await fetch(path, { method, signal, headers: sent, body: body === undefined ? undefined : JSON.stringify(body) }).catch(lost);
    setClock(answer.headers.get("Date"));
    if (answer.status !== 401) return answer;
    key.set(await askForKey(key.get() !== null));
  }
}

// ask makes a request and reads the JSON of its answer; a refusal is thrown as a Problem.
export async function ask(path, options) {
  const answer = await call(path, options);
  if (answer.ok) return answer.json().catch(lost);
  throw refusal(answer.status, answer.statusText, await answer.json().catch(() => ({})));
}

export const post = (path, body = undefined, headers = {}) => ask(path, { method: "POST", body, headers });

// query writes the parameters that have a value.
export function query(path, parameters) {
  const pairs = Object.entries(parameters).filter(([, v]) => v !== "" && v !== null && v !== undefined);
  return pairs.length ? path + "?" + new URLSearchParams(pairs) : path;
}

// upload sends a file and tells how much of it has left: fetch cannot tell.
export function upload(file, onProgress) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("POST", query("/v1/files", { name: file.name }));
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    for (const [name, value] of Object.entries(key.header())) request.setRequestHeader(name, value);
    request.upload.onprogress = (e) => e.lengthComputable && onProgress(e.loaded / e.total);
    request.onerror = () => fail(gone());
    request.onload = () => {
      let body = {};
      try { body = JSON.parse(request.responseText); } catch { /* no JSON: the status says it */ }
      request.status < 300 ? done(body) : fail(refusal(request.status, request.statusText, body));
    };
    request.send(file);
  });
}

// blobURL fetches what needs a key and gives an address of it in this page.
export async function blobURL(href) {
  const answer = await call(href);
  if (!answer.ok) throw refusal(answer.status, answer.statusText, await answer.json().catch(() => ({})));
  return URL.createObjectURL(await answer.blob().catch(lost));
}

// saved is a link that saves a file. A link carries no key, so with one the file is fetched first.
export function saved(href, name, ...children) {
  const link = el("a", { href, download: name }, ...children);
  link.addEventListener("click", async (event) => {
    if (!key.get()) return;
    event.preventDefault();
    const url = await blobURL(href);
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  });
  return link;
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
