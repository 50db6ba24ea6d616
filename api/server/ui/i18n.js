// The language of the pages, and how times, numbers and money read in it.

import { sentences } from "/ui/sentences.js";
import { words } from "/ui/words.js";

const languages = ["en", "zh"];

let spoken = localStorage.getItem("language");
if (!languages.includes(spoken)) spoken = navigator.language.startsWith("zh") ? "zh" : "en";

export const language = () => spoken;

const locale = () => (spoken === "zh" ? "zh-CN" : navigator.language.startsWith("en") ? navigator.language : "en-GB");

// speak changes the language, and remembers it.
export function speak(other) {
  spoken = other;
  localStorage.setItem("language", other);
  document.documentElement.lang = other === "zh" ? "zh-CN" : "en";
}

// t gives the words for a key, with {name} replaced by values. What has no words gives the fallback.
export function t(key, values = {}, fallback = key) {
  const entry = words[key];
  const text = entry ? entry[languages.indexOf(spoken)] : fallback;
  return text.replace(/{(\w+)}/g, (whole, name) => (name in values ? values[name] : whole));
}

// named gives the words for something that the API names, or the name itself, made readable.
export const named = (group, name) => t(`${group}.${name}`, {}, String(name).replaceAll("_", " "));

// titled is what went wrong, by its code.
export const titled = (error) => t("code." + error.code, {}, error.title || error.code);

// told gives what the API says, in the reader's language where there are words for it.
export const told = (text) => (spoken === "zh" && sentences[text]) || text;

export const number = (n, options) => new Intl.NumberFormat(locale(), options).format(n);

let skew = 0; // milliseconds that the clock of the server is ahead of this one

// setClock hears what time it is at the server. It tells whole seconds, so a small difference is none.
export function setClock(date) {
  const ahead = Date.parse(date) + 500 - Date.now();
  if (Math.abs(ahead - skew) > 2000) skew = ahead;
}

// serverTime is the time at the server: what an age or a countdown is measured by.
export const serverTime = (local = Date.now()) => local + skew;

export const moment = (at) => new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });

export const clock = (at) => new Date(at).toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const scales = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

// duration says seconds in the two largest units that matter.
export function duration(seconds) {
  let left = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [unit, size] of scales) {
    const n = Math.floor(left / size);
    left -= n * size;
    if (n || (unit === "second" && !parts.length)) parts.push(number(n, { style: "unit", unit, unitDisplay: "short" }));
    if (parts.length === 2) break;
  }
  return parts.join(spoken === "zh" ? "" : " ");
}

// ago says how long ago something was.
export function ago(at) {
  const seconds = (serverTime() - new Date(at)) / 1000;
  if (seconds < 10) return t("time.now");
  const [unit, size] = scales.find(([, s]) => seconds >= s) || ["second", 1];
  return new Intl.RelativeTimeFormat(locale(), { style: "short" }).format(-Math.floor(seconds / size), unit);
}

export function bytes(n) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const scale = Math.min(units.length - 1, n < 1000 ? 0 : Math.floor(Math.log10(n) / 3));
  return number(n / 1000 ** scale, { style: "unit", unit: units[scale], unitDisplay: "short", maximumFractionDigits: scale ? 1 : 0 });
}

// money shows small sums with as many digits as they need. A currency that the browser does not know is written out.
export function money(cost) {
  if (!cost) return "";
  const digits = cost.amount && Math.abs(cost.amount) < 0.1 ? 5 : 2;
  try {
    return number(cost.amount, { style: "currency", currency: cost.currency, currencyDisplay: "narrowSymbol", maximumFractionDigits: digits });
  } catch {
    return `${number(cost.amount, { maximumFractionDigits: digits })} ${cost.currency}`;
  }
}
