#include <fmt/core.h>

#include <map>

#include "luminal/kernel/body.h"
#include "luminal/kernel/text.h"

namespace luminal::kernel {

std::string to_string(const Arena& arena, BodyId body) {
  TextWriter writer(arena);
  return writer.value(body);
}

std::string to_string(const Arena& arena, const Kernel& kernel) {
  TextWriter writer(arena);
  std::vector<BodyId> roots;
  for (const Root& root : kernel.roots) roots.push_back(root.value);
  std::map<BodyId, int> uses;
  const std::vector<BodyId> order = arena.reachable(roots);
  for (BodyId id : order) {
    for (BodyId child : arena[id].children) ++uses[child];
    for (BodyId value : arena[id].index_values) ++uses[value];
  }
  std::string text;
  int lets = 0;
  for (BodyId id : order) {
    const BodyNode& node = arena[id];
    const bool reduction = node.kind == BodyKind::kReduce;
    const bool shared = uses[id] > 1 && node.kind == BodyKind::kOp;
    if (!reduction && !shared) continue;
    const std::string name = fmt::format("{}{}", reduction ? "s" : "t", ++lets);
    text += fmt::format("{} = {}\n", name, writer.value(id));
    writer.name(id, name);
  }
  for (const Root& root : kernel.roots)
    text += fmt::format("{}{} = {}\n", writer.tensor(root.tensor), writer.index(root.store),
                        writer.value(root.value));
  return text;
}

}  // namespace luminal::kernel
