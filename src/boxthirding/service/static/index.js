"use strict";

// Exchange the one-time code in the address for a cookie, then list the studies.
async function start() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname);
    const opened = await fetch("/api/v1/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ secret: code }),
    });
    if (!opened.ok) {
      const problem = await opened.json();
      say(`${problem.detail}; ${problem.advice}`);
      return;
    }
  }
  const answer = await fetch("/api/v1/studies");
  if (!answer.ok) return;
  const { studies } = await answer.json();
  say(studies.length ? "Studies here:" : "There are no studies here yet.");
  const list = document.getElementById("studies");
  for (const study of studies) {
    const item = document.createElement("li");
    item.textContent = `${study.name}: ${study.error ?? `${study.status}, ${study.pulls} pulls`}`;
    list.append(item);
  }
}

function say(text) {
  document.getElementById("state").textContent = text;
}

start();
