// One network followed through the compiler, as docs/how-it-works.md shows it: what every stage
// makes of it, as text. The processor, the number of threads and the data are fixed, so that the
// text is the same on every machine.
#pragma once

#include <map>
#include <string>

#include "luminal/graph/graph.h"

namespace luminal::docs {

/// The network: causal self-attention with one head.
graph::Graph network();

/// What each stage gives, by the name that the page has for it.
std::map<std::string, std::string> stages();

}  // namespace luminal::docs
