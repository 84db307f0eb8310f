// The chat page: what the person does, and what the server says.
"use strict";

import { Clock } from "./clock.js";
import { Drafts } from "./drafts.js";
import { Line } from "./line.js";
import { Log } from "./log.js";

const UNACKED_MS = 8000;    // then a message counts as not sent, though it is sent again with the line
const SILENT_MS = 12000;    // a reply that nobody hears of: ask

const $ = (id) => document.getElementById(id);
const around = $("surroundings").dataset;
const words = JSON.parse($("words").textContent);
const log = new Log($("log"), { words, shape: around.shape, zone: around.zone });
const clock = new Clock({ words, leastMinutes: Number(around.leastMinutes), leastTurns: Number(around.leastTurns) });
const drafts = new Drafts(around.session);
const box = $("say");

let lastSeq = Number(around.last);
let pending = null;          // {reply_to, attempt, heard}: a reply is on its way
let failed = null;           // {reply_to}: the last reply did not come
let trouble = "";            // what the status line says first
let missed = "";             // the reply and attempt whose text was asked for since a part did not arrive
let ready = false;           // welcomed on this line

const line = new Line(around.socket, {
  hello: () => ({ type: "hello", last_seq: lastSeq, have: have() }),
  take,
  opened: () => { trouble = ""; show(); },
  broken: (seconds) => {
    ready = false;
    trouble = words.no_connection.replace("{seconds}", seconds);
    show();
  },
});

function have() {
  const { writing } = log;
  return writing && { reply_to: writing.reply_to, attempt: writing.attempt, chars: Array.from(writing.text).length };
}

function take(frame) {
  takers[frame.type]?.(frame);
  show();
}

const takers = {
  welcome({ turns, pending: unfinished, state }) {
    ready = true;
    turns.forEach(stored);
    begin(unfinished);
    clock.set(state);
    if (drafts.unsent) send();
  },
  ack({ client_id, seq }) {
    if (drafts.unsent?.client_id !== client_id) return;
    drafts.unsent = null;
    log.settle(seq);
    lastSeq = Math.max(lastSeq, seq);
    clock.countOne();
    pending = { reply_to: seq, heard: performance.now() };
    failed = null;
    log.write(seq, 0);
  },
  turn(frame) {
    stored(frame);
    if (frame.role !== "user") return;
    clock.countOne();
    pending = { reply_to: frame.seq, heard: performance.now() };
    failed = null;
    log.write(frame.seq, 0);
  },
  token(frame) {
    if (!pending && lastSeq > (frame.reply_to ?? 0)) return;
    pending = { reply_to: frame.reply_to, heard: performance.now() };
    failed = null;
    if (log.token(frame)) return;
    const which = `${frame.reply_to}.${frame.attempt}`;   // a part was lost on its way: ask once for the text so far
    if (missed !== which) line.send({ type: "hello", last_seq: lastSeq, have: have() });
    missed = which;
  },
  reply(frame) {
    pending = failed = null;
    log.unwrite();
    stored({ ...frame, role: "bot", at: new Date() });
  },
  state(frame) { clock.set(frame); },
  refused({ ref, code }) {
    if (ref === "finish") {
      trouble = words[code] || words.refused;
      sure(false);
      return;
    }
    const { unsent } = drafts;
    if (ref ? unsent?.client_id !== ref : !unsent) return;   // without ref: the server could not even read whose it is
    drafts.unsent = null;
    log.unwait();
    box.value = [unsent.text, box.value].filter(Boolean).join("\n");
    typed();
    trouble = (words[code] || words.refused).replace("{most}", around.most);
  },
  failed({ reply_to }) {
    pending = null;
    failed = { reply_to };
    log.unanswered(askAgain);
  },
  ended({ next }) {
    line.close();
    drafts.clear();
    location.assign(next);
  },
};

function stored(turn) {
  if (turn.client_id && turn.client_id === drafts.unsent?.client_id) {
    drafts.unsent = null;
    log.settle(turn.seq);
  }
  log.turn(turn);
  lastSeq = Math.max(lastSeq, turn.seq);
}

// Where the reply to the last message stands, as the server sees it.
function begin(unfinished) {
  pending = failed = null;
  log.unwrite();
  if (!unfinished) return;
  if (unfinished.failed) {
    failed = { reply_to: unfinished.reply_to };
    log.unanswered(askAgain);
    return;
  }
  pending = { reply_to: unfinished.reply_to, heard: performance.now() };
  log.token({ ...unfinished, at: 0 });
}

function askAgain() {
  if (failed && line.send({ type: "retry", reply_to: failed.reply_to })) {
    pending = { reply_to: failed.reply_to, heard: performance.now() };
    log.write(failed.reply_to, 0);
    failed = null;
    show();
    box.focus();
  }
}

function send() {
  const { unsent } = drafts;
  const isSent = ready && line.send({ type: "say", ...unsent });
  log.wait(unsent, isSent ? "sending" : "failed", sendAgain);
  clearTimeout(send.timer);
  send.timer = setTimeout(() => {
    if (drafts.unsent?.client_id === unsent.client_id) log.wait(unsent, "failed", sendAgain);
  }, UNACKED_MS);
  show();
}

function sendAgain() {
  box.focus();
  if (line.isOpen) send();
  else line.again(0);
}

function mayWrite() {
  return ready && !pending && !drafts.unsent && clock.state?.paused_reason !== "outage";
}

function submit(event) {
  event?.preventDefault();
  const text = box.value.toWellFormed?.() ?? box.value;   // half an emoji is no text
  if (!text.trim() || drafts.unsent || pending || (clock.state?.paused_reason === "outage")) return;
  if (Array.from(text).length > Number(around.most)) {
    trouble = words.too_long.replace("{most}", around.most);
    show();
    return;
  }
  trouble = "";
  drafts.unsent = { client_id: newId(), text };
  box.value = "";
  typed();
  sure(false);
  send();
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function typed() {
  drafts.draft = box.value;
  if (!CSS.supports("field-sizing", "content")) {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }
}

function sure(asked) {
  $("finish-sure").hidden = !asked;
  $("finish-first").hidden = asked;
}

function show() {
  const put = (text) => { if ($("status").textContent !== text) $("status").textContent = text; };
  $("send").setAttribute("aria-disabled", String(!mayWrite()));
  const reason = clock.state?.paused_reason || "";
  if (show.reason !== reason) {
    show.reason = reason;
    if (reason === "outage") log.pause(words.outage_title, [words.outage, until()].filter(Boolean).join(" "), around.home);
    else if (reason === "idle") log.pause(words.idle_title, words.idle, around.home);
    else log.pause(null);
  }
  $("finishing").hidden = !clock.mayFinish || Boolean(pending);
  if (trouble) put(trouble);
  else if (!ready) put(words.connecting);
  else if (reason) put(words.paused);
  else if (drafts.unsent) put(words.moment);
  else if (pending) put(words.writing);
  else put(clock.hint);
}

function until() {
  if (!around.closes) return "";
  const time = new Intl.DateTimeFormat(document.documentElement.lang, { timeZone: around.zone, weekday: "long", hour: "2-digit", minute: "2-digit" });
  return words.outage_until.replace("{time}", time.format(new Date(around.closes)));
}

$("composer").addEventListener("submit", submit);
box.addEventListener("input", () => { trouble = ""; typed(); show(); });
box.addEventListener("keydown", (event) => {
  const isComposing = event.isComposing || event.keyCode === 229;
  if (event.key === "Enter" && !event.shiftKey && !isComposing) submit(event);
});
$("finish").addEventListener("click", () => { sure(true); $("finish-yes").focus(); });
$("finish-no").addEventListener("click", () => { sure(false); box.focus(); });
$("finish-yes").addEventListener("click", () => line.send({ type: "finish" }));
addEventListener("storage", (event) => { if (event.key === drafts.draftKey && document.hidden) box.value = event.newValue || ""; });
clock.changed = show;
setInterval(() => {
  if (pending && ready && performance.now() - pending.heard > SILENT_MS) {
    pending.heard = performance.now();
    line.send({ type: "hello", last_seq: lastSeq, have: have() });
  }
}, 2000);

box.value = drafts.draft;
typed();
if (drafts.unsent) log.wait(drafts.unsent, "sending", sendAgain);
if (matchMedia("(hover: hover) and (pointer: fine)").matches) box.focus({ preventScroll: true });   // on a phone the keyboard would cover the talk
line.open();
