// Drafts of the question that is being written, kept in this browser until it is kept by the server.
"use strict";

const form = document.getElementById("pair");

if (form) {
  const key = `pair:${form.dataset.session}:${form.dataset.number}`;
  const saved = document.getElementById("saved");
  const isSentBack = Boolean(form.querySelector(".error"));
  if (!isSentBack) fill(form, read(key));
  form.addEventListener("input", () => {
    write(key, JSON.stringify({
      question: form.elements.question.value,
      answer: form.elements.answer.value,
      evidence: [...form.querySelectorAll("[name=evidence]:checked")].map((box) => box.value),
    }));
    saved.textContent = saved.dataset.saved;
  });
  form.addEventListener("submit", () => sessionStorage.setItem("pair-sent", key));
  (form.querySelector("[aria-invalid=true]") || (isSentBack && form.querySelector("[name=evidence]")) || { focus() {} }).focus();
}

// What was sent and did not come back with an error is with the server now.
const sent = sessionStorage.getItem("pair-sent");
if (sent && !document.querySelector(".error")) {
  localStorage.removeItem(sent);
  sessionStorage.removeItem("pair-sent");
}

function fill(target, text) {
  if (!text) return;
  const draft = JSON.parse(text);
  if (sessionStorage.getItem("pair-sent") === `pair:${target.dataset.session}:${target.dataset.number}`) return;
  target.elements.question.value = draft.question;
  target.elements.answer.value = draft.answer;
  for (const box of target.querySelectorAll("[name=evidence]")) box.checked = draft.evidence.includes(box.value);
  target.dispatchEvent(new Event("change", { bubbles: true }));
}

function read(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

function write(key, text) {
  try { localStorage.setItem(key, text); } catch { /* nothing can be kept here */ }
}
