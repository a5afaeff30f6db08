#include "margrove/hierarchy_reader.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "data/foreign_forms.hpp"
#include "data/hierarchy_edges.hpp"
#include "data/input_file.hpp"
#include "data/obo_parser.hpp"
#include "data/path_list_parser.hpp"
#include "data/skos_reader.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

class EdgeParser {
 public:
  explicit EdgeParser(std::string name) { hierarchy_.source = std::move(name); }

  void parse_line(const Line& line) {
    const auto fields = detail::two_fields(line, "parent child");
    if (!fields) return;
    const auto [parent, child] = *fields;
    require_edge_list(line, parent);
    const std::string_view up_to_child(parent.data(),
                                       static_cast<std::size_t>(child.data() - parent.data()));
    for (const std::string_view name : *fields) {
      if (up_to_child.find('\t') == std::string_view::npos) {
        line.require_label(name);
      } else {
        line.require_name(name);
      }
    }
    add_edge(line, parent, child);
  }

  /// A line `parent<TAB>child<TAB>child ...` of a .taxonomy file. The parent of the first line is
  /// no node if it is Root: its children are the roots.
  void parse_taxonomy_line(const Line& line) {
    std::string_view rest = detail::trimmed(line.text);
    if (rest.empty()) return;
    const auto next_name = [&] {
      const std::size_t tab = std::min(rest.find('\t'), rest.size());
      const std::string_view name = detail::trimmed(rest.substr(0, tab));
      rest.remove_prefix(std::min(tab + 1, rest.size()));
      line.require_name(name);
      return name;
    };
    const std::string_view parent = next_name();
    if (rest.empty()) {
      line.fail(line.end(), "the line has one name, but must be parent<TAB>child<TAB>child ...");
    }
    const bool is_root = hierarchy_.codec.size() == 0 && parent == kTaxonomyRoot;
    while (!rest.empty()) {
      const std::string_view child = next_name();
      if (is_root) {
        hierarchy_.codec.add(child);
      } else {
        add_edge(line, parent, child);
      }
    }
  }

  Hierarchy finish() {
    require(!hierarchy_.edges.empty(), hierarchy_.source,
            ": the file has no edge, but must have at least one line 'parent child'");
    require_acyclic(hierarchy_);
    return std::move(hierarchy_);
  }

 private:
  static constexpr std::string_view kTaxonomyRoot = "Root";

  void add_edge(const Line& line, std::string_view parent, std::string_view child) {
    if (parent == child) {
      line.fail(child.data(), "node ", detail::quoted(child),
                " is its own parent, but must be another node's child");
    }
    const LabelId p = hierarchy_.codec.add(parent);
    const LabelId c = hierarchy_.codec.add(child);
    const auto [first, is_new] = edge_lines_.emplace((std::uint64_t{p} << 32U) | c, line.number);
    if (!is_new) {
      line.fail(parent.data(), "edge ", detail::quoted(parent), " ", detail::quoted(child),
                " is on line ", first->second, " already, but must occur once");
    }
    hierarchy_.edges.push_back({p, c});
    hierarchy_.lines.push_back(line.number);
  }

  /// Throws for the first line of a file that has another form and would pass for an edge.
  void require_edge_list(const Line& line, std::string_view parent) const {
    if (!hierarchy_.edges.empty()) return;
    if (parent.starts_with('<') && parent.ends_with('>') &&
        parent.find("://") != std::string_view::npos) {
      line.fail(parent.data(), "the line begins with a URI in angle brackets, as in Annif's ",
                "vocabularies, which have no hierarchy; give the vocabulary in SKOS");
    }
  }

  Hierarchy hierarchy_;
  std::unordered_map<std::uint64_t, std::int64_t> edge_lines_;
};

/// Whether the name of a file ends like this, apart from that of its compression.
bool has_extension(std::string_view path, std::string_view extension) {
  return name_uncompressed(path).ends_with(extension);
}

/// The first lines of a file: the blank ones, the comments, and some after these. The next block is
/// still the first one.
std::string_view start_of(LineBlocks& blocks) {
  constexpr std::size_t kEnough = 4096, kLongest = std::size_t{1} << 22U;
  if (!blocks.next()) return {};
  for (std::size_t line = 0;;) {
    const std::string_view text = blocks.text();
    while (line < text.size()) {
      const std::string_view rest = text.substr(line);
      const std::size_t first = rest.find_first_not_of(" \t\r");
      const bool is_content = first < rest.size() &&
                              std::string_view("\n#!").find(rest[first]) == std::string_view::npos;
      if (is_content) break;
      line += std::min(rest.find('\n'), rest.size() - 1) + 1;
    }
    if (text.size() >= std::min(line + kEnough, kLongest) || !blocks.extend()) break;
  }
  blocks.stay();
  return blocks.text();
}

template <class Parser>
Hierarchy read_lines(LineBlocks blocks, Parser parser) {
  detail::for_each_line(blocks, [&](const Line& line) { parser.parse_line(line); });
  return parser.finish();
}

Hierarchy read_obo(LineBlocks blocks, const HierarchyOptions& options, FormerTerms* former) {
  detail::OboParser terms(blocks.name(), options.part_of, options.other_names);
  detail::for_each_line(blocks, [&](const Line& line) { terms.parse_line(line); });
  Hierarchy hierarchy = terms.finish();
  if (former != nullptr) *former = std::move(terms.former());
  return hierarchy;
}

Hierarchy read_taxonomy(LineBlocks blocks, const HierarchyOptions& options) {
  require<InvalidOption>(!options.part_of && options.language.empty(),
                         "options part_of and language: one is given, but ", blocks.name(),
                         " is a .taxonomy file, which has neither");
  EdgeParser edges(blocks.name());
  detail::for_each_line(blocks, [&](const Line& line) { edges.parse_taxonomy_line(line); });
  return edges.finish();
}

Hierarchy read(LineBlocks blocks, const HierarchyOptions& options, FormerTerms* former) {
  const std::string& name = blocks.name();
  const std::string_view start = start_of(blocks);
  detail::refuse_foreign(start, name, detail::Wanted::hierarchy);
  if (has_extension(name, ".taxonomy")) return read_taxonomy(std::move(blocks), options);
  const detail::RdfSyntax syntax = detail::rdf_syntax(start);
  const bool is_rdf = syntax != detail::RdfSyntax::none;
  const bool is_obo =
      !is_rdf && (has_extension(name, ".obo") || detail::OboParser::begins_with(start));
  require<InvalidOption>(options.language.empty() || is_rdf, "option language is ",
                         options.language, ", but ", name, " is not SKOS in Turtle, ",
                         "N-Triples or RDF/XML");
  require<InvalidOption>(!options.part_of || is_obo, "option part_of is given, but ", name,
                         " is not OBO, whose name ends in .obo or which begins with a tag of its "
                         "header or [Term]");
  if (is_rdf) {
    return detail::read_skos(std::move(blocks), syntax, options.language, options.other_names);
  }
  if (is_obo) return read_obo(std::move(blocks), options, former);
  if (detail::PathListParser::begins_with(start)) {
    detail::PathListParser parser(name);
    return read_lines(std::move(blocks), std::move(parser));
  }
  EdgeParser parser(name);
  return read_lines(std::move(blocks), std::move(parser));
}

constexpr std::size_t kNone = ~std::size_t{0};
/// Of each node that is on a cycle or below one, the edge from such a parent; kNone of the others.
std::vector<std::size_t> unresolved_parents(const Hierarchy& h) {
  const std::size_t n = h.codec.size();
  std::vector<std::vector<LabelId>> children(n);
  std::vector<std::size_t> num_parents(n, 0);
  for (const auto& [parent, child] : h.edges) {
    children[parent].push_back(child);
    ++num_parents[child];
  }
  std::vector<LabelId> ready;
  for (LabelId node = 0; node < n; ++node) {
    if (num_parents[node] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {
    const LabelId node = ready.back();
    ready.pop_back();
    for (const LabelId child : children[node]) {
      if (--num_parents[child] == 0) ready.push_back(child);
    }
  }
  std::vector<std::size_t> parent_edge(n, kNone);
  for (std::size_t e = 0; e < h.edges.size(); ++e) {
    const auto& edge = h.edges[e];
    if (num_parents[edge.parent] > 0 && num_parents[edge.child] > 0) parent_edge[edge.child] = e;
  }
  return parent_edge;
}
}  // namespace

Hierarchy read_hierarchy(const std::string& path, const HierarchyOptions& options,
                         FormerTerms* former) {
  return read(LineBlocks(open_file(path), path, options.control), options, former);
}

Hierarchy read_hierarchy(const std::string& path) { return read_hierarchy(path, {}); }

Hierarchy read_hierarchy(const std::string& path, const std::string& language,
                         bool with_other_names) {
  return read_hierarchy(path, {.language = language, .other_names = with_other_names});
}

Hierarchy parse_hierarchy(std::string_view bytes, const std::string& name) {
  return read(LineBlocks(open_memory(bytes, name), name), {}, nullptr);
}

std::string edge_location(const Hierarchy& hierarchy, std::size_t edge) {
  if (!hierarchy.lines.empty()) return concat(hierarchy.source, ":", hierarchy.lines[edge]);
  const auto [parent, child] = hierarchy.edges[edge];
  return concat("edge ", detail::quoted(hierarchy.codec.name(parent)), " ",
                detail::quoted(hierarchy.codec.name(child)));
}

void require_acyclic(const Hierarchy& h) {
  const std::vector<std::size_t> parent_edge = unresolved_parents(h);
  const auto start = std::find_if(parent_edge.begin(), parent_edge.end(),
                                  [](std::size_t edge) { return edge != kNone; });
  if (start == parent_edge.end()) return;
  // A walk upwards from below a cycle enters it after at most as many steps as there are nodes.
  auto node = static_cast<LabelId>(start - parent_edge.begin());
  for (std::size_t step = 0; step < parent_edge.size(); ++step) {
    node = h.edges[parent_edge[node]].parent;
  }
  std::size_t last = parent_edge[node];
  for (LabelId n = h.edges[last].parent; n != node; n = h.edges[parent_edge[n]].parent) {
    last = std::max(last, parent_edge[n]);
  }
  // The message lists the cycle from the child of its last edge down to the parent.
  constexpr std::size_t kMaxNames = 10;
  std::vector<LabelId> names{h.edges[last].parent};
  for (LabelId n = names[0]; n != h.edges[last].child;) {
    n = h.edges[parent_edge[n]].parent;
    names.push_back(n);
  }
  std::string cycle;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (k == kMaxNames && names.size() > kMaxNames + 1) {
      cycle += concat("... (", names.size(), " nodes)");
      break;
    }
    cycle += concat(h.codec.name(names[names.size() - 1 - k]), " > ");
  }
  if (!cycle.ends_with(')')) cycle += h.codec.name(h.edges[last].child);
  const std::string source = h.source.empty() ? "hierarchy" : h.source;
  const std::string where = h.lines.empty() ? source : edge_location(h, last);
  throw InvalidInput(concat(where, ": edge ", detail::quoted(h.codec.name(h.edges[last].parent)),
                            " ", detail::quoted(h.codec.name(h.edges[last].child)),
                            " closes the cycle ", cycle, ", but no node may be its own ancestor"));
}

}  // namespace margrove
