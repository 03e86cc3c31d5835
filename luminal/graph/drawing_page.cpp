#include "luminal/graph/drawing_page.h"

namespace luminal::graph {

const std::string_view kDrawingStyle = R"css(
:root {
  color-scheme: light;
  --page: #f7f8fa; --dot: #e3e6eb; --surface: #ffffff; --border: #d5d9e0; --text: #1b2230;
  --muted: #66708a; --wire: #9aa4b8; --accent: #2f6fed; --feeds: #d9822b; --group: #5b6b8c;
  --source: #7d8aa5; --input: #2f6fed; --elementwise: #2a9d8f; --reduction: #d9822b;
  --indexing: #8757d6; --barrier: #d14d57; --output: #259b5a; --hit: #ffd84d;
}
:root[data-theme="dark"] {
  color-scheme: dark;
  --page: #12151c; --dot: #1e232d; --surface: #1c212b; --border: #343c4b; --text: #e6eaf2;
  --muted: #98a3b8; --wire: #5a667c; --accent: #6ea0ff; --feeds: #f0a355; --group: #8fa2c8;
  --source: #93a0bb; --input: #6ea0ff; --elementwise: #45c3b3; --reduction: #f0a355;
  --indexing: #b18cf2; --barrier: #f07a83; --output: #4fce88; --hit: #e0b92e;
}
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; background: var(--page); color: var(--text);
       font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header { display: flex; align-items: center; gap: 10px; padding: 8px 14px; z-index: 2;
         background: var(--surface); border-bottom: 1px solid var(--border); }
h1 { font-size: 15px; font-weight: 650; margin: 0; white-space: nowrap; overflow: hidden;
     text-overflow: ellipsis; }
#summary { color: var(--muted); white-space: nowrap; flex: 1; overflow: hidden;
           text-overflow: ellipsis; }
button, input { font: inherit; color: inherit; background: var(--page); padding: 4px 10px;
                border: 1px solid var(--border); border-radius: 7px; }
button { cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--accent); }
#search { width: 230px; }
#hits { color: var(--muted); min-width: 56px; font-variant-numeric: tabular-nums; }
main { position: relative; flex: 1; min-height: 0; display: flex; }
#canvas { flex: 1; min-width: 0; height: 100%; cursor: grab; display: block; touch-action: none; }
#canvas.moving { cursor: grabbing; }
#overview { position: absolute; left: 14px; bottom: 14px; border-radius: 9px; cursor: pointer;
            background: var(--surface); border: 1px solid var(--border); }
#legend { position: absolute; left: 14px; top: 12px; display: flex; gap: 12px; flex-wrap: wrap;
          font-size: 12px; color: var(--muted); pointer-events: none; padding: 3px 9px;
          background: var(--page); border-radius: 8px; opacity: .92; }
#legend span::before { content: ""; display: inline-block; width: 10px; height: 10px;
  border-radius: 3px; background: var(--swatch); margin-right: 5px; vertical-align: -1px; }
aside { width: 340px; overflow: auto; padding: 16px; background: var(--surface);
        border-left: 1px solid var(--border); }
aside[hidden] { display: none; }
aside h2 { font-size: 16px; margin: 0 0 2px; overflow-wrap: anywhere; }
aside h3 { font-size: 11px; letter-spacing: .06em; text-transform: uppercase; margin: 16px 0 6px;
           color: var(--muted); }
aside .kind { color: var(--muted); margin-bottom: 6px; }
aside .close { float: right; padding: 0 8px; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 3px 12px; margin: 8px 0; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
code, dd { font-family: ui-monospace, "SFMono-Regular", Menlo, "DejaVu Sans Mono", monospace;
           font-size: 12.5px; }
@media (max-width: 900px) {
  header { flex-wrap: wrap; gap: 6px; padding: 6px 10px; }
  h1, #summary { display: none; }
  #search { flex: 1; width: 0; min-width: 120px; }
  #hits { min-width: 0; }
  #legend { left: 8px; top: 8px; gap: 2px 10px; right: 8px; }
  #overview { left: 8px; bottom: 8px; }
  aside { position: absolute; left: 0; right: 0; bottom: 0; width: auto; max-height: 60%;
          border-left: 0; border-top: 1px solid var(--border); }
}
@media (max-width: 500px) {
  #overview { display: none; }
}
.link { display: block; width: 100%; text-align: left; margin: 4px 0; padding: 6px 10px;
        white-space: normal; overflow-wrap: anywhere; }
.link code { display: block; color: var(--muted); }
)css";

const std::string_view kDrawingBody = R"html(
<header>
  <h1 id="title"></h1>
  <span id="summary"></span>
  <input id="search" type="search" placeholder="Search  ( / )" title="op, name, shape or %id" spellcheck="false">
  <span id="hits"></span>
  <button id="fit" title="f">Fit</button>
  <button id="open">Open all</button>
  <button id="close">Close all</button>
  <button id="theme" aria-label="Light or dark">&#9681;</button>
</header>
<main>
  <canvas id="canvas" tabindex="0"></canvas>
  <div id="legend"></div>
  <canvas id="overview" width="190" height="130"></canvas>
  <aside id="details" hidden></aside>
</main>
)html";

}  // namespace luminal::graph
