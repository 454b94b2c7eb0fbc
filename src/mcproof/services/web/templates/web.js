"use strict";
// Everything works without this script: it only sends the filter as soon as a choice is made.
for (const choice of document.querySelectorAll("form.filter select:not([required])")) {
  choice.addEventListener("change", () => choice.form.requestSubmit());
}
