// Which page an address shows. pages.go serves the same addresses.

import { dead } from "/ui/dead.js";
import { create } from "/ui/new.js";
import { system } from "/ui/system.js";
import { task } from "/ui/task.js";
import { tasks } from "/ui/tasks.js";

const routes = [
  [/^\/$/, tasks],
  [/^\/new(?:\/([^/]+))?$/, create],
  [/^\/tasks\/([^/]+)$/, task],
  [/^\/dead-letters$/, dead],
  [/^\/system$/, system],
];

let leave = new AbortController();

// show draws the page of the present address into main. What the page before was doing is ended by its signal.
export function show() {
  leave.abort();
  leave = new AbortController();
  const main = document.getElementById("main");
  const [pattern, page] = routes.find(([p]) => p.test(location.pathname)) || routes[0];
  const [, ...given] = location.pathname.match(pattern) || [];
  const root = document.createElement("div");
  root.className = "page";
  main.replaceChildren(root);
  mark();
  page({ root, signal: leave.signal, query: new URLSearchParams(location.search), given: given.map((g) => g && decodeURIComponent(g)) });
  document.title = [root.querySelector("h1")?.textContent, "longhaul"].filter(Boolean).join(" · ");
}

// mark shows in the bar which place the present page belongs to.
export function mark() {
  const place = location.pathname.startsWith("/tasks/") ? "/" : location.pathname.replace(/^(\/new)\/.*/, "$1");
  for (const link of document.querySelectorAll("#bar nav a")) {
    if (link.pathname === place) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// go changes the address and shows its page.
export function go(path) {
  history.pushState(null, "", path);
  show();
  scrollTo(0, 0);
  document.getElementById("main").focus({ preventScroll: true });
}

// note changes the query of the address without leaving the page.
export function note(parameters) {
  const pairs = Object.entries(parameters).filter(([, value]) => value);
  history.replaceState(null, "", location.pathname + (pairs.length ? "?" + new URLSearchParams(pairs) : ""));
}

const ours = (path) => routes.some(([pattern]) => pattern.test(path));

// start shows the first page, and follows the links and the back button from then on.
export function start() {
  addEventListener("popstate", show);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!plain || event.defaultPrevented || !link || link.target || link.hasAttribute("download")) return;
    if (link.hash || link.origin !== location.origin || !ours(link.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
  show();
}
