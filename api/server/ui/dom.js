// Elements of pages. Text goes in as text, never as markup: there is no other way in here.

export const byId = (id) => document.getElementById(id);

// el makes an element. Of the attributes, functions become listeners ("onclick"), true is an attribute without
// a value, and false, null and undefined are left out. Children are elements, texts or lists of them.
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") e.addEventListener(key.slice(2), value);
    else if (key.startsWith("aria-") && typeof value === "boolean") e.setAttribute(key, String(value));
    else if (value !== false && value !== null && value !== undefined) e.setAttribute(key, value === true ? "" : value);
  }
  for (const c of children.flat(3)) { // one by one: a text may have more lines than a call takes arguments
    if (c !== null && c !== undefined && c !== false && c !== "") e.append(c);
  }
  return e;
}

const drawings = {
  tasks: "M4 6h2M10 6h10M4 12h2M10 12h10M4 18h2M10 18h10",
  plus: "M12 5v14M5 12h14",
  dead: "M4 13h4l2 3h4l2-3h4M4 13v6h16v-6M4 13l3-8h10l3 8",
  system: "M3 12h4l3-8 4 16 3-8h4",
  bell: "M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4",
  moon: "M20 14A8.5 8.5 0 1 1 10 4a7 7 0 0 0 10 10z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  close: "M6 6l12 12M18 6L6 18",
  upload: "M12 16V5M7 10l5-5 5 5M4 20h16",
  down: "M12 4v11M7 10l5 5 5-5M4 20h16",
  key: "M15 4a5 5 0 1 1-3.5 8.5L4 20v-3l1-1h2v-2h2l1.5-1.5A5 5 0 0 1 15 4z",
  book: "M4 5a2 2 0 0 1 2-2h13v16H6a2 2 0 0 0-2 2zM8 7h7",
};

// icon draws a sign that says nothing by itself: the words beside it do.
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [k, v] of Object.entries({ viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" })) svg.setAttribute(k, v);
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", drawings[name]);
  svg.append(path);
  return svg;
}

// part is a piece of a page that is drawn anew only when what it shows has changed: what a reader has selected,
// opened or begun to play is left alone.
export function part(draw, root = el("div", { class: "part" })) {
  let shown;
  return {
    root,
    update(...values) {
      const now = JSON.stringify(values);
      if (now === shown) return;
      shown = now;
      root.replaceChildren(...[draw(...values)].flat(2).filter(Boolean));
    },
  };
}

// say tells those who do not see the page what has changed.
export function say(text) {
  byId("said").textContent = text;
}

// toast shows a message for some seconds.
export function toast(text, tone = "") {
  const shown = el("div", { class: "toast " + tone }, text);
  byId("toasts").append(shown);
  setTimeout(() => shown.remove(), 6000);
}

// rest waits, or less if the signal comes.
export const rest = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});
