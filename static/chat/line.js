// The line to the server: opens a websocket, says hello, notices silence, and comes back after every break, ever more slowly.
"use strict";

const QUIET_MS = 20000;   // then a ping
const DEAD_MS = 10000;    // without any answer to it, the line is dead
const BACK_OFF_S = [0, 1, 2, 4, 8, 15];

export class Line {
  // `hello()` gives the first frame; `take(frame)` gets every frame; `broken(seconds)` hears of a break and when the next try is.
  constructor(path, { hello, take, broken, opened }) {
    Object.assign(this, { path, hello, take, broken, opened });
    this.tries = 0;
    this.over = false;
    addEventListener("online", () => this.again(0));
    document.addEventListener("visibilitychange", () => { if (!document.hidden && !this.isOpen) this.again(0); });
    setInterval(() => this.listen(), 2000);
  }

  get isOpen() { return this.socket?.readyState === WebSocket.OPEN; }

  open() {
    if (this.over || this.isOpen || this.socket?.readyState === WebSocket.CONNECTING) return;
    const address = new URL(this.path, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = this.socket = new WebSocket(address);
    this.heard = this.asked = 0;
    socket.onopen = () => {
      this.heard = performance.now();
      this.opened();
      this.send(this.hello());
    };
    socket.onmessage = (event) => {
      this.heard = performance.now();
      this.asked = 0;
      const frame = JSON.parse(event.data);
      if (frame.type === "welcome") this.tries = 0;
      this.take(frame);
    };
    socket.onclose = () => { if (socket === this.socket) this.lost(); };
  }

  lost() {
    this.socket = null;
    if (this.over) return;
    const seconds = BACK_OFF_S[Math.min(this.tries, BACK_OFF_S.length - 1)];
    this.tries += 1;
    this.broken(seconds);
    this.again(seconds * 1000 + (seconds ? Math.random() * 500 : 100));
  }

  again(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), ms);
  }

  listen() {
    if (!this.isOpen) return;
    const now = performance.now();
    if (this.asked && now - this.asked > DEAD_MS) {
      const socket = this.socket;
      this.lost();
      socket.onclose = null;
      socket.close();
    } else if (!this.asked && now - this.heard > QUIET_MS) {
      this.asked = now;
      this.send({ type: "ping" });
    }
  }

  send(frame) {
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  close() {
    this.over = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }
}
