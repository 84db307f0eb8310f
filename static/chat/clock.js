// Minutes and messages at the head of the page. The server says where the session stands; between, the browser counts.
"use strict";

export class Clock {
  constructor({ words, leastMinutes, leastTurns }) {
    Object.assign(this, { words, leastMinutes, leastTurns });
    this.state = null;
    setInterval(() => this.show(), 5000);
  }

  set(state) {
    this.state = state;
    this.at = performance.now();
    this.show();
  }

  get seconds() {
    if (!this.state) return 0;
    return this.state.seconds + (this.state.paused ? 0 : Math.floor((performance.now() - this.at) / 1000));
  }

  // One message more than the server has told of yet.
  countOne() {
    if (!this.state) return;
    this.state = { ...this.state, user_turns: this.state.user_turns + 1, turns_left: this.state.turns_left > 1 ? this.state.turns_left - 1 : null };
    this.show();
  }

  get secondsLeft() {
    if (this.state?.seconds_left == null) return null;
    const left = this.state.seconds_left - (this.seconds - this.state.seconds);
    return left > 0 ? left : null;
  }

  get mayFinish() {
    return Boolean(this.state) && (this.state.may_finish || (this.secondsLeft === null && this.state.turns_left === null));
  }

  show() {
    if (!this.state) return;
    const minutes = Math.floor(this.seconds / 60);
    const words = this.words;
    let text = this.state.paused ? words.paused_at : this.leastMinutes ? words.minutes_of : words.minutes;
    put("minutes", text.replace("{minutes}", minutes).replace("{least}", this.leastMinutes));
    const count = this.state.user_turns === 1 ? words.message_one : words.messages.replace("{count}", this.state.user_turns);
    put("count", words.at_least.replace("{messages}", count).replace("{least}", this.leastTurns));
    const bar = document.getElementById("bar");
    bar.value = bar.dataset.by === "turns" ? this.state.user_turns : this.seconds / 60;
    this.changed?.();
  }

  // When finishing will be allowed, in words.
  get hint() {
    if (!this.state) return "";
    if (this.mayFinish) return this.words.may_finish;
    const minutes = this.secondsLeft === null ? 0 : Math.ceil(this.secondsLeft / 60);
    const turns = this.state.turns_left ?? 0;
    const text = turns && minutes ? this.words.finish_both : turns ? this.words.finish_turns : this.words.finish_minutes;
    return text.replace("{turns}", turns).replace("{minutes}", minutes);
  }
}

function put(id, text) {
  const node = document.getElementById(id);
  if (node.textContent !== text) node.textContent = text;
}
