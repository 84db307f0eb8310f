// Fills what the browser knows and the person need not type: the time zone and the language. Without a script the form
// works too; both can be changed on the person's own page.
"use strict";
for (const field of document.querySelectorAll("input[data-fill]")) {
  field.value = field.dataset.fill === "zone" ? Intl.DateTimeFormat().resolvedOptions().timeZone || "" : navigator.language || "";
}
