// Any bytes give an acyclic hierarchy or an error that names the file.
#include "fuzzing.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "margrove/label_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    const Hierarchy h = parse_hierarchy(testing::as_text(bytes, size), "f");
    std::vector<LabelEdge> edges;
    for (const auto& edge : h.edges) edges.push_back({edge.parent, edge.child});
    // Throws an error that does not start with "f:" if the reader let a wrong edge pass.
    const auto graph = LabelGraph::build(static_cast<std::uint32_t>(h.codec.size()), edges);
    testing::check(graph.num_edges() == h.lines.size() || h.lines.empty(),
                   "every edge has a line, or none in RDF");
    testing::check(h.names.empty() || h.names.size() == h.codec.size(), "every node has a name");
  });
  return 0;
}
