// What the person typed, kept in this browser until the server has stored it. Filed under the session's code, never a person.
"use strict";

export class Drafts {
  constructor(session) {
    this.draftKey = `draft:${session}`;
    this.unsentKey = `unsent:${session}`;
  }

  get draft() { return read(this.draftKey) || ""; }
  set draft(text) { write(this.draftKey, text); }

  // The message that was sent and not yet acknowledged: {client_id, text}, or null.
  get unsent() {
    try { return JSON.parse(read(this.unsentKey) || "null"); } catch { return null; }
  }
  set unsent(message) { write(this.unsentKey, message && JSON.stringify(message)); }

  clear() {
    write(this.draftKey, null);
    write(this.unsentKey, null);
  }
}

// A browser that refuses storage (private windows) still chats; only a reload then loses a draft.
function read(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

function write(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch { /* nothing can be kept here */ }
}
