#pragma once
// Ontologies in OBO, such as the Gene Ontology's, as hierarchies of their terms.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/hierarchy_edges.hpp"
#include "data/text_scan.hpp"
#include "margrove/dataset.hpp"

namespace margrove::detail {

/// Parses the lines of an OBO file. Nodes are the ids of the terms that are not obsolete, with
/// their names, and with `other_names` their synonyms. Edges are their is_a and, with `part_of`,
/// the relationships of that name. An alt_id of one term is an alternative id of its node, unless
/// it is a node itself; one of several, and obsolete terms with their replaced_by, are former().
/// Other tags are ignored.
class OboParser {
 public:
  OboParser(std::string source, bool part_of, bool other_names)
      : part_of_(part_of), keeps_synonyms_(other_names) {
    hierarchy_.source = std::move(source);
  }

  /// Whether a file with these first lines is OBO: after blank lines and comments (`!`) comes a tag
  /// of the header, or a stanza.
  static bool begins_with(std::string_view start);

  /// Throws InvalidInput "file:line:column: ..." for a term without an id or with that of another.
  void parse_line(const Line& line);
  /// Parents that are no terms are left out, with a warning. Throws InvalidInput for a cycle.
  Hierarchy finish();
  /// After finish().
  FormerTerms& former() { return former_; }

 private:
  struct Parent {
    std::string id;
    std::int64_t line;
    std::int64_t column;
  };
  void close_term();
  void note_alternatives();
  void add_alternatives();
  void add_parent(const Line& line, std::string_view id);

  bool part_of_;
  bool keeps_synonyms_;
  bool in_term_ = false;
  std::int64_t term_line_ = 0;  // of the present term
  std::string id_, name_, synonyms_, replacement_;
  bool is_obsolete_ = false;
  std::vector<std::string> alternatives_;                // of the present term
  std::vector<Parent> parents_;                          // of the present term
  std::vector<std::pair<LabelId, Parent>> edges_;        // of all terms: child and parent
  std::unordered_map<std::string, std::int64_t> lines_;  // of all ids
  Hierarchy hierarchy_;
  std::map<std::string, std::string> term_of_alternative_;  // empty if it is not one term
  FormerTerms former_;
};

}  // namespace margrove::detail
