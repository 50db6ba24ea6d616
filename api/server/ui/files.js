// Files that are dropped or chosen: they are uploaded at once, and the form holds their ids.

import { upload } from "/ui/api.js";
import { el, icon } from "/ui/dom.js";
import { blamer } from "/ui/fields.js";
import { bytes, t } from "/ui/i18n.js";

let count = 0;

// drop is a place for files. With onFile it takes many and hands each on; without, it is the field of one file's id.
export function drop(s, onFile = null) {
  let id;
  const input = el("input", { type: "file", class: "unseen", id: `drop${++count}`, multiple: Boolean(onFile), onchange: () => { take(input.files); input.value = ""; } });
  const uploads = el("ul", { class: "uploads", "aria-live": "polite" });
  const fault = el("p", { class: "fault", hidden: true });
  const zone = el("label", { class: "drop", for: input.id }, icon("upload"), el("span", {}, t(onFile ? "drop.many" : "drop.one")));
  const node = el("div", { class: "field" }, input, zone, uploads, fault);

  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    take(event.dataTransfer.files);
  });

  async function take(files) {
    for (const file of onFile ? [...files] : [...files].slice(0, 1)) await send(file);
  }

  async function send(file) {
    const meter = el("progress", { max: 1, value: 0, "aria-label": file.name });
    const line = el("li", {}, icon("file"), el("span", { class: "grow" }, file.name), el("span", { class: "soft" }, bytes(file.size)), meter);
    if (onFile) uploads.append(line);
    else uploads.replaceChildren(line);
    try {
      const kept = await upload(file, (share) => { meter.value = share; });
      if (onFile) { line.remove(); onFile(kept); }
      else { meter.remove(); id = kept.id; }
    } catch (problem) {
      meter.remove();
      line.append(el("span", { class: "bad" }, problem.detail || problem.title),
        el("button", { type: "button", class: "quiet", onclick: () => { line.remove(); send(file); } }, t("again")));
    }
  }

  return {
    node,
    set(value) {
      id = value;
      uploads.replaceChildren(...(value ? [el("li", {}, icon("file"), el("code", { class: "grow" }, value))] : []));
    },
    value(at, places) {
      places.set(at, blamer(zone, fault));
      return id;
    },
  };
}
