// News as it happens: streams of server-sent events read with fetch, which can send the key. Where a server has
// no stream, it is asked again and again instead.

import { ask, call } from "/ui/api.js";
import { rest } from "/ui/dom.js";

const most = 15000; // milliseconds between two attempts to connect

// frames reads a stream of events until it ends: {event, data, id} each.
async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text = (text + value).replaceAll("\r\n", "\n");
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const frame = parse(block);
      if (frame) yield frame;
    }
  }
}

function parse(block) {
  const frame = { event: "message", data: "", id: "" };
  for (const line of block.split("\n")) {
    const [, name, value] = line.match(/^(event|data|id): ?(.*)$/) || [];
    if (name === "data") frame.data += (frame.data && "\n") + value;
    else if (name) frame[name] = value;
  }
  if (!frame.data) return null; // a comment, or nothing to tell
  try {
    return { ...frame, data: JSON.parse(frame.data) };
  } catch {
    return null;
  }
}

// seen waits until somebody looks at the page.
const seen = () => new Promise((done) => {
  if (!document.hidden) return done();
  document.addEventListener("visibilitychange", function look() {
    if (document.hidden) return;
    document.removeEventListener("visibilitychange", look);
    done();
  });
});

// whileSeen gives a signal that comes with the other one, or when nobody looks any more. A browser opens six
// connections to a server for all its pages together: one that is hidden must hold none of them.
function whileSeen(signal) {
  const hidden = new AbortController();
  document.addEventListener("visibilitychange", () => document.hidden && hidden.abort(), { signal: AbortSignal.any([signal, hidden.signal]) });
  return AbortSignal.any([signal, hidden.signal]);
}

// follow hands on the frames of a stream, and connects again where it broke off, until on answers true or the
// signal comes. It answers false if there is no such stream here.
export async function follow(path, on, { signal, onState = () => {} }) {
  let last = "";
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, most)) {
    await seen();
    const looking = whileSeen(signal);
    try {
      const answer = await call(path, { signal: looking, headers: { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) } });
      if (answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        onState("live");
        for await (const frame of frames(answer.body)) {
          wait = 1000;
          last = frame.id || last;
          if (on(frame)) return true;
        }
      } else {
        await answer.body?.cancel();
        if (answer.status < 500) return false;
      }
    } catch { /* cut off: again below */ }
    if (looking.aborted) wait = 500; // nothing is wrong
    else {
      onState("down");
      await rest(wait, signal);
    }
  }
  return true;
}

// watch shows a task whenever it changes, until it has ended. onText hears what a model is writing.
export async function watch(id, { onTask, onText, signal }) {
  const path = "/v1/tasks/" + encodeURIComponent(id);
  const there = await follow(path + "/events", ({ event, data }) => {
    if (event === "task") onTask(data);
    if (event === "text") onText(data);
    return event === "end" || (event === "task" && data.done);
  }, { signal });
  if (!there) await poll(path, onTask, signal);
}

async function poll(path, onTask, signal) {
  for (let revision = -1; !signal.aborted;) {
    try {
      const task = await ask(revision < 0 ? path : `${path}?wait=30s&after_revision=${revision}`, { signal });
      revision = task.revision;
      onTask(task);
      if (task.done) return;
      await rest(200, signal);
    } catch (problem) {
      if (problem.code === "not_found") return;
      await rest(3000, signal);
    }
  }
}
