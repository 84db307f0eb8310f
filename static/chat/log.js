// The messages on the page, in order of seq. What has no seq yet (a message on its way, a reply being written) comes last.
"use strict";

export class Log {
  constructor(element, { words, shape, zone }) {
    Object.assign(this, { element, words, shape, zone });
    this.writing = null;   // the reply being written: {node, reply_to, attempt, text}
    this.waiting = null;   // the message that is not acknowledged yet
    for (const mark of element.querySelectorAll(".day")) mark.textContent = this.dayInWords(mark.dataset.day);
  }

  has(seq) { return Boolean(this.element.querySelector(`[data-seq="${Number(seq)}"]`)); }

  // A stored turn. Twice is once; a turn that overtook another one is put in its place.
  turn({ seq, role, text, at }) {
    if (this.has(seq)) return;
    if (role === "bot" && !text) {
      const empty = document.createElement("span");
      empty.dataset.seq = seq;
      empty.hidden = true;
      this.place(empty, seq);
      return;
    }
    const node = role === "bot" ? this.bot(text) : this.me(text);
    node.dataset.seq = seq;
    this.place(node, seq);
    if (at) this.day(node, new Date(at));
  }

  place(node, seq) {
    const later = [...this.element.querySelectorAll("[data-seq]")].find((other) => Number(other.dataset.seq) > seq);
    this.element.insertBefore(node, later || this.firstOpen());
  }

  firstOpen() {
    return this.element.querySelector(":scope > [data-open]");
  }

  day(node, at) {
    const day = new Intl.DateTimeFormat("sv-SE", { timeZone: this.zone }).format(at);
    const marks = [...this.element.querySelectorAll(".day")];
    if (marks.some((mark) => mark.dataset.day === day)) return;
    const mark = Object.assign(document.createElement("p"), { className: "day" });
    mark.dataset.day = day;
    mark.textContent = this.dayInWords(day);
    this.element.insertBefore(mark, node);
  }

  // A day of the person's zone, written yyyy-mm-dd, in their language.
  dayInWords(day) {
    const today = new Intl.DateTimeFormat("sv-SE", { timeZone: this.zone }).format(new Date());
    const format = new Intl.DateTimeFormat(document.documentElement.lang, { timeZone: "UTC", weekday: "long", day: "numeric", month: "long" });
    const words = format.format(new Date(`${day}T12:00:00Z`));
    return day === today ? this.words.today.replace("{day}", words) : words;
  }

  bot(text, label = this.words.they) {
    const node = element("div", "msg msg-bot");
    const shape = element("span", `shape shape-${this.shape}`);
    shape.setAttribute("aria-hidden", "true");
    node.append(shape);
    this.fill(node, text, label);
    return node;
  }

  fill(node, text, label) {
    node.querySelectorAll(":scope > p").forEach((p) => p.remove());
    const lines = text.split(/[\r\n]+/).filter((line) => line.trim());
    for (const [i, line] of (lines.length ? lines : [""]).entries()) {
      const p = paragraph(line);
      if (i === 0) p.prepend(spoken(label));
      node.append(p);
    }
    return node.lastElementChild;
  }

  me(text) {
    const node = element("div", "msg msg-me");
    const p = paragraph(text);
    p.prepend(spoken(this.words.you));
    node.append(p);
    return node;
  }

  // A message on its way. `state`: "sending" or "failed".
  wait({ client_id, text }, state, again) {
    if (this.waiting?.dataset.client !== client_id) {
      this.waiting?.remove();
      this.waiting = this.me(text);
      this.waiting.dataset.client = client_id;
      this.waiting.dataset.open = "message";
      this.element.insertBefore(this.waiting, this.element.querySelector(":scope > [data-open='reply']"));
    }
    if (this.waiting.dataset.state === state) return;
    this.waiting.dataset.state = state;
    this.waiting.querySelector(".msg-note")?.remove();
    const note = element("div", "msg-note");
    if (state === "sending") note.append(this.words.sending);
    else note.append(strong(this.words.not_sent), ` ${this.words.kept} `, button(this.words.send_again, again));
    this.waiting.append(note);
  }

  // The message that waited is stored under `seq`.
  settle(seq) {
    const node = this.waiting;
    this.waiting = null;
    if (!node) return;
    if (this.has(seq)) { node.remove(); return; }
    delete node.dataset.open;
    delete node.dataset.state;
    node.querySelector(".msg-note")?.remove();
    node.dataset.seq = seq;
    this.place(node, seq);
    this.day(node, new Date());
  }

  unwait() {
    this.waiting?.remove();
    this.waiting = null;
  }

  // What is being written, from code point `at` on. A higher attempt discards what was shown.
  // False where something is missing before this part: nothing is drawn then.
  token({ reply_to, attempt, at, text }) {
    const now = this.writing;
    if (now && now.reply_to === reply_to && attempt < now.attempt) return true;
    if (!now || now.reply_to !== reply_to || now.attempt !== attempt || !now.node.isConnected) this.write(reply_to, attempt);
    const before = Array.from(this.writing.text);
    if (at > before.length) return false;
    this.writing.text = before.slice(0, at).join("") + text;
    const last = this.fill(this.writing.node, this.writing.text, this.words.they_write);
    const caret = element("span", "caret");
    caret.setAttribute("aria-hidden", "true");
    last.append(caret);
    return true;
  }

  write(reply_to, attempt) {
    this.unwrite();
    const node = this.bot("", this.words.they_write);
    node.setAttribute("aria-busy", "true");
    node.dataset.open = "reply";
    this.element.append(node);
    this.writing = { node, reply_to, attempt, text: "" };
  }

  unwrite() {
    this.element.querySelectorAll(":scope > [data-open='reply']").forEach((node) => node.remove());
    this.writing = null;
  }

  // No answer came; `again` asks for it once more.
  unanswered(again) {
    this.unwrite();
    const node = this.bot("");
    node.querySelector("p").remove();
    node.dataset.open = "reply";
    const note = element("div", "msg-note");
    note.append(strong(this.words.no_answer), ` ${this.words.saved} `, button(this.words.ask_again, again));
    node.append(note);
    this.element.append(node);
  }

  // The conversation stands still; null: it goes on.
  pause(title, text, leave) {
    this.element.querySelector(".note[data-pause]")?.remove();
    if (!title) return;
    const note = element("div", "note note-warn above-5");
    note.dataset.pause = "";
    note.dataset.open = "pause";
    const p = element("p");
    p.append(Object.assign(element("b"), { textContent: title }), ` ${text}`);
    const link = Object.assign(element("a", "btn btn-small"), { href: leave, textContent: this.words.later });
    const row = element("p", "above-3");
    row.append(link);
    note.append(p, row);
    this.element.append(note);
  }
}

function element(name, className = "") {
  return Object.assign(document.createElement(name), { className });
}

function paragraph(text) {
  const p = element("p");
  p.dir = "auto";
  p.append(text);
  return p;
}

function spoken(text) {
  return Object.assign(element("span", "sr"), { textContent: text });
}

function strong(text) {
  return Object.assign(element("strong"), { textContent: text });
}

function button(text, act) {
  const node = Object.assign(element("button", "btn btn-small"), { type: "button", textContent: text });
  node.addEventListener("click", act);
  return node;
}
