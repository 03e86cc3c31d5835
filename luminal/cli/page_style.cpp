#include "luminal/cli/page.h"

namespace luminal::cli {

const std::string_view kPageStyle = R"css(
:root {
  color-scheme: light;
  --page: #f7f8fa; --surface: #ffffff; --border: #d5d9e0; --text: #1b2230; --muted: #66708a;
  --accent: #2f6fed; --soft: #e8effd; --launch: #2a9d8f; --host: #d9822b; --copy: #8757d6;
  --check: #7d8aa5; --good: #259b5a; --bad: #d14d57; --hit: #fff3bf;
}
:root[data-theme="dark"] {
  color-scheme: dark;
  --page: #12151c; --surface: #1c212b; --border: #343c4b; --text: #e6eaf2; --muted: #98a3b8;
  --accent: #6ea0ff; --soft: #24314d; --launch: #45c3b3; --host: #f0a355; --copy: #b18cf2;
  --check: #93a0bb; --good: #4fce88; --bad: #f07a83; --hit: #4d4420;
}
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; background: var(--page); color: var(--text);
       font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header { display: flex; align-items: center; gap: 6px 14px; padding: 8px 16px; flex-wrap: wrap;
         background: var(--surface); border-bottom: 1px solid var(--border); }
h1 { font-size: 16px; font-weight: 650; margin: 0; white-space: nowrap; overflow: hidden;
     text-overflow: ellipsis; }
nav { display: flex; gap: 2px; flex: 1; min-width: 0; overflow-x: auto; scrollbar-width: none; }
nav button { flex: none; white-space: nowrap; }
button, input { font: inherit; color: inherit; background: var(--page);
                border: 1px solid var(--border); border-radius: 7px; padding: 4px 11px; }
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
button:focus-visible, input:focus-visible { outline: 2px solid var(--accent); }
nav button { border-color: transparent; background: none; }
nav button[aria-selected="true"] { background: var(--soft); color: var(--accent); font-weight: 600; }
nav button .count { color: var(--muted); font-size: 12px; margin-left: 5px; font-weight: 400; }
main { flex: 1; min-height: 0; position: relative; }
main > section { position: absolute; inset: 0; overflow: auto; padding: 20px; }
main > section[hidden] { display: none; }
main > section.whole { padding: 0; overflow: hidden; }
iframe { width: 100%; height: 100%; border: 0; display: block; }
h2 { font-size: 15px; margin: 26px 0 10px; }
h2:first-child { margin-top: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; }
.card { background: var(--surface); border: 1px solid var(--border); border-radius: 10px;
        padding: 12px 14px; }
.card b { display: block; font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; }
.card span { color: var(--muted); font-size: 12.5px; }
table { border-collapse: collapse; width: 100%; background: var(--surface); font-size: 13px;
        border: 1px solid var(--border); border-radius: 10px; }
th { text-align: left; color: var(--muted); font-weight: 500; }
th, td { padding: 5px 12px; border-bottom: 1px solid var(--border); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; }
code, pre { font: 12.5px/1.45 ui-monospace, "SFMono-Regular", Menlo, "DejaVu Sans Mono", monospace; }
pre { margin: 0; padding: 14px; overflow: auto; background: var(--surface); tab-size: 4;
      border: 1px solid var(--border); border-radius: 10px; }
.muted { color: var(--muted); }
.bar { display: flex; gap: 10px; align-items: center; margin-bottom: 14px; flex-wrap: wrap; }
.bar input { width: min(340px, 100%); }
details { background: var(--surface); border: 1px solid var(--border); border-radius: 9px;
          margin-bottom: 6px; }
details[open] { border-color: var(--accent); }
summary { overflow-wrap: anywhere; padding: 6px 12px; cursor: pointer; display: flex; gap: 6px 12px; flex-wrap: wrap; }
summary b { min-width: 56px; }
summary .ops { color: var(--muted); flex: 1; min-width: 0; overflow: hidden;
               text-overflow: ellipsis; white-space: nowrap; }
details .body { padding: 4px 14px 12px; border-top: 1px solid var(--border); }
.node { padding: 4px 0; overflow-wrap: anywhere; }
.node .by { color: var(--accent); font-size: 12.5px; }
a.class { color: var(--accent); cursor: pointer; text-decoration: none; margin-right: 8px; }
a.class:hover { text-decoration: underline; }
.tag { display: inline-block; border-radius: 5px; padding: 0 7px; font-size: 12px;
       background: var(--soft); color: var(--accent); }
.split { display: grid; grid-template-columns: minmax(280px, 2fr) 3fr; gap: 18px; height: 100%; }
.split > div { overflow: auto; min-width: 0; min-height: 0; }
.step { display: block; width: 100%; text-align: left; margin-bottom: 5px; padding: 7px 12px;
        background: var(--surface); border-left: 4px solid var(--kind); }
.step[aria-selected="true"] { background: var(--soft); border-color: var(--accent);
                              border-left-color: var(--kind); }
.step .line { display: flex; gap: 10px; }
.step .line b { flex: 1; font-weight: 550; overflow-wrap: anywhere; }
.step .line span { color: var(--muted); white-space: nowrap; font-variant-numeric: tabular-nums; }
.step .share { height: 4px; border-radius: 2px; background: var(--kind); margin-top: 5px;
               min-width: 2px; }
.step small { color: var(--muted); overflow-wrap: anywhere; }
.tabs { display: flex; gap: 4px; margin: 14px 0 8px; }
.tabs button[aria-selected="true"] { background: var(--soft); color: var(--accent); }
dl { display: grid; grid-template-columns: auto 1fr; gap: 3px 16px; margin: 8px 0; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
svg { display: block; width: 100%; background: var(--surface); border: 1px solid var(--border);
      border-radius: 10px; }
svg text { fill: var(--muted); font-size: 11px; }
.chart { margin: 8px 0; }
.chart .grid { stroke: var(--border); }
.chart .edge { stroke: var(--muted); }
.chart .so-far { fill: none; stroke: var(--accent); stroke-width: 1; opacity: 0.45; }
.chart .so-far.main { stroke-width: 2.2; opacity: 1; }
.chart .trial { cursor: pointer; fill-opacity: 0.8; }
.chart .trial:hover { fill-opacity: 1; stroke: var(--text); }
.chart .best { fill: var(--good); }
.chart .slower { fill: var(--check); }
.chart .rejected { fill: none; stroke: var(--bad); stroke-width: 2; pointer-events: bounding-box; }
.chart .used { stroke: var(--text); stroke-width: 1.8; }
.chart .chosen { stroke: var(--accent); stroke-width: 3; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 6px 0; }
.keys span { white-space: nowrap; }
.keys svg { display: inline-block; width: 18px; height: 12px; border: 0; background: none;
              vertical-align: -1px; margin: 0 5px 0 0; border-radius: 0; }
.said-by { border-left: 4px solid var(--accent); background: var(--surface); padding: 8px 14px;
           border-radius: 6px; margin: 12px 0; }
.outcome { white-space: nowrap; }
.outcome.best { color: var(--good); }
.outcome.rejected { color: var(--bad); }
select { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--border);
         border-radius: 7px; padding: 4px 8px; max-width: 100%; min-width: 0; }
#trial { min-height: 120px; }
.lane { position: relative; height: 44px; background: var(--surface); overflow: hidden;
        border: 1px solid var(--border); border-radius: 9px; }
.lane button { position: absolute; top: 5px; bottom: 5px; padding: 0 4px; border-radius: 4px;
               background: var(--kind); border: 0; color: #fff; font-size: 11px; overflow: hidden;
               white-space: nowrap; text-overflow: ellipsis; min-width: 1px; }
.lane button[aria-selected="true"] { outline: 2px solid var(--text); }
.axis { display: flex; justify-content: space-between; color: var(--muted); font-size: 12px;
        margin: 4px 2px 18px; }
.bars { display: grid; gap: 5px; }
.bar-row { display: grid; grid-template-columns: minmax(120px, 2fr) minmax(120px, 5fr) 170px;
           gap: 12px; align-items: center; }
.bar-row.small { grid-template-columns: 110px 1fr 90px; font-size: 12.5px; }
.bar-row .what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right; }
.bar-row .said { color: var(--muted); font-size: 12.5px; font-variant-numeric: tabular-nums;
                 white-space: nowrap; }
.time-bar { position: relative; height: 17px; background: var(--soft); border-radius: 4px;
            overflow: hidden; }
.time-bar div { position: absolute; left: 0; top: 0; bottom: 0; min-width: 1px; }
.small .time-bar { height: 10px; }
.time-bar .time, .legend .time { background: var(--host); }
.time-bar .floor, .legend .floor { background: var(--launch); }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin: 0 6px 0 14px;
            vertical-align: -1px; }
.legend i:first-child { margin-left: 0; }
th.sorts { cursor: pointer; user-select: none; white-space: nowrap; }
th.sorts:hover, th.sorts:focus-visible { color: var(--accent); }
th[aria-sort="descending"]::after { content: " \2193"; }
th[aria-sort="ascending"]::after { content: " \2191"; }
tr.choice { cursor: pointer; }
tr.choice:hover td { background: var(--soft); }
.boundary { background: var(--surface); border: 1px solid var(--border); border-radius: 9px;
            padding: 9px 13px; margin-bottom: 8px; overflow-wrap: anywhere; }
.boundary details { margin: 7px 0 0; }
.boundary .bar-row { margin-top: 5px; }
#reason ul { margin: 6px 0; padding-left: 20px; }
#ways-table td:first-child, #steps-table td:nth-child(2) { overflow-wrap: anywhere; min-width: 120px; }
@media (max-width: 1100px) {
  header { padding: 8px 12px 4px; }
  h1 { flex: 1; }
  nav { flex-basis: 100%; order: 1; scrollbar-width: thin; padding-bottom: 4px; }
}
@media (max-width: 860px) {
  .bar-row { grid-template-columns: 1fr 1fr; gap: 2px 10px; }
  .bar-row .what { text-align: left; white-space: normal; overflow-wrap: anywhere; }
  .bar-row .time-bar { grid-column: 1 / -1; grid-row: 2; }
  .bar-row .said { text-align: right; }
  .bar-row.small { grid-template-columns: 1fr 1fr; }
  .split { grid-template-columns: minmax(0, 1fr); height: auto; }
  .cards { grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 8px; }
  .card { padding: 9px 11px; }
  .card b { font-size: 18px; }
  th, td { padding: 5px 8px; }
  main > section { padding: 12px; }
  summary .ops { white-space: normal; flex-basis: 100%; }
}
)css";

const std::string_view kPageBody = R"html(
<header>
  <h1 id="title"></h1>
  <nav id="tabs" role="tablist"></nav>
  <button id="theme" aria-label="Light or dark">&#9681;</button>
</header>
<main id="main"></main>
)html";

}  // namespace luminal::cli
