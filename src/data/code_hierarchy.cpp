#include "data/code_hierarchy.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace margrove {
namespace {

bool is_punctuation(char c) {
  return std::string_view(" .,:;/-_").find(c) != std::string_view::npos;
}
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

std::string_view common_beginning(std::string_view a, std::string_view b) {
  auto size = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                       a.begin());
  while (size > 0 && size < a.size() && continues_character(a[size])) --size;
  if (size < a.size()) {
    while (size > 0 && is_punctuation(a[size - 1])) --size;
  }
  return a.substr(0, size);
}

}  // namespace

Hierarchy hierarchy_of_codes(std::span<const std::string> codes, std::string source) {
  std::vector<std::string_view> nodes(codes.begin(), codes.end());
  std::sort(nodes.begin(), nodes.end());
  for (std::size_t k = 1; k < codes.size(); ++k) {
    const std::string_view shared = common_beginning(nodes[k - 1], nodes[k]);
    if (!shared.empty()) nodes.push_back(shared);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  Hierarchy hierarchy;
  hierarchy.source = std::move(source);
  std::vector<LabelId> above;  // prefixes of the present node, which precede it in the order
  for (const std::string_view node : nodes) {
    while (!above.empty() && !node.starts_with(hierarchy.codec.name(above.back()))) {
      above.pop_back();
    }
    const LabelId id = hierarchy.codec.add(node);
    if (!above.empty()) hierarchy.edges.push_back({above.back(), id});
    above.push_back(id);
  }
  return hierarchy;
}

}  // namespace margrove
