// Follows numbers.js in a report: its numbers and moments as the reader writes them. What people wrote is marked translate="no".

const forms = {
  date: clock({ dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }),
  day: clock({ day: "numeric", month: "short", timeZone: "UTC" }),
  time: clock({ hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" }),
};

for (const one of document.querySelectorAll("[data-form]")) {
  const moment = forms[one.dataset.form](new Date(one.dataset.at * 1000));
  one.textContent = one.textContent.replace(/^.*?(?=: | UTC|$)/, () => moment);
}

const found = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
while (found.nextNode()) {
  const node = found.currentNode;
  if (!node.parentElement.closest("[translate=no], time")) node.data = localized(node.data);
}
for (const one of document.querySelectorAll("main [aria-label]")) one.setAttribute("aria-label", localized(one.getAttribute("aria-label")));
