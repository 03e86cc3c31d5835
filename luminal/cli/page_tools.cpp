#include "luminal/cli/page.h"

namespace luminal::cli {

const std::string_view kPageTools = R"js(
"use strict";
const byId = id => document.getElementById(id);
const data = JSON.parse(byId("compile-data").textContent);

// All text goes in as text, never as markup.
function make(tag, attributes, ...children) {
  const result = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") result.onclick = value;
    else if (name === "style") result.style.cssText = value;
    else result.setAttribute(name, value);
  }
  result.append(...children.filter(child => child !== null && child !== undefined));
  return result;
}
function makeSvg(tag, attributes, ...children) {
  const result = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") result.onclick = value;
    else result.setAttribute(name, value);
  }
  result.append(...children.filter(child => child !== null && child !== undefined));
  return result;
}
const amount = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");
const duration = us => us >= 1e6 ? (us / 1e6).toFixed(2) + " s" : us >= 1e3 ?
  (us / 1e3).toFixed(2) + " ms" : us.toFixed(us < 10 ? 2 : 1) + " \u00b5s";
const kindColor = kind => "--kind: var(--" + kind + ")";
function table(heads, rows) {
  const cell = (tag, value, k) =>
    make(tag, heads[k].startsWith("#") ? {class: "n"} : {}, value);
  return make("div", {class: "scroll"}, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((h, k) => cell("th", h.replace("#", ""), k)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((v, k) => cell("td", v, k)))))));
}

// A drawing is as light or dark as the page.
function dressFrame(frame) {
  const inside = frame.contentDocument && frame.contentDocument.documentElement;
  const theme = document.documentElement.dataset.theme;
  if (inside && inside.dataset.theme !== theme) frame.contentDocument.getElementById("theme").click();
}

// A page is tabs: [id, title, count, how to fill it when it is first shown].

let pageTabs = [];
function openTab(name) {
  const tab = pageTabs.find(each => each[0] === name) || pageTabs[0];
  for (const [id] of pageTabs) {
    byId("tab-" + id).setAttribute("aria-selected", id === tab[0]);
    byId("part-" + id).hidden = id !== tab[0];
  }
  byId("tab-" + tab[0]).scrollIntoView({block: "nearest", inline: "nearest"});
  const section = byId("part-" + tab[0]);
  if (!section.dataset.made) {
    section.dataset.made = "yes";
    tab[3](section);
  }
  if (location.hash.slice(1) !== tab[0]) history.replaceState(null, "", "#" + tab[0]);
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.querySelectorAll("iframe").forEach(dressFrame);
}
function startPage(title, tabs) {
  pageTabs = tabs;
  byId("title").textContent = title;
  for (const [id, name, count] of tabs) {
    byId("tabs").append(make("button", {id: "tab-" + id, role: "tab", onclick: () => openTab(id)}, name,
      count === "" ? null : make("span", {class: "count"}, count.toLocaleString("en"))));
    byId("main").append(make("section", {id: "part-" + id, role: "tabpanel", hidden: ""}));
  }
  byId("theme").onclick = () =>
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  openTab(location.hash.slice(1));
}
)js";

}  // namespace luminal::cli
