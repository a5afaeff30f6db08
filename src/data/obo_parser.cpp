#include "data/obo_parser.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "data/hierarchy_edges.hpp"

namespace margrove::detail {
namespace {

/// The value of a line `tag: value`; empty if it has another tag.
std::string_view value_of(std::string_view text, std::string_view tag) {
  if (!text.starts_with(tag) || !text.substr(tag.size()).starts_with(':')) return {};
  return trimmed(text.substr(tag.size() + 1));
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t"));
}

/// `value` before a comment.
std::string_view without_comment(std::string_view value) {
  return trimmed(value.substr(0, value.find(" !")));
}

/// The text of `"one \"two\"" EXACT [source]`; empty if there is none.
std::string text_in_quotes(std::string_view value) {
  std::string text;
  if (!value.starts_with('"')) return text;
  for (std::size_t k = 1; k < value.size() && value[k] != '"'; ++k) {
    if (value[k] == '\\' && k + 1 < value.size()) ++k;
    text += value[k];
  }
  return text;
}

constexpr std::array<std::string_view, 20> kHeaderTags{"format-version",
                                                       "data-version",
                                                       "version",
                                                       "ontology",
                                                       "date",
                                                       "saved-by",
                                                       "auto-generated-by",
                                                       "import",
                                                       "subsetdef",
                                                       "synonymtypedef",
                                                       "default-namespace",
                                                       "namespace-id-rule",
                                                       "idspace",
                                                       "remark",
                                                       "property_value",
                                                       "owl-axioms",
                                                       "default-relationship-id-prefix",
                                                       "id-mapping",
                                                       "typeref",
                                                       "treat-xrefs-as-equivalent"};

}  // namespace

bool OboParser::begins_with(std::string_view start) {
  while (!start.empty()) {
    const std::size_t newline = start.find('\n');
    const std::string_view line = trimmed(start.substr(0, newline));
    start.remove_prefix(newline == std::string_view::npos ? start.size() : newline + 1);
    if (line.empty() || line == "\r" || line.starts_with('!')) continue;
    for (const std::string_view stanza : {"[Term]", "[Typedef]", "[Instance]"}) {
      if (line.starts_with(stanza)) return true;
    }
    return std::ranges::any_of(kHeaderTags,
                               [&](std::string_view tag) { return !value_of(line, tag).empty(); });
  }
  return false;
}

void OboParser::parse_line(const Line& line) {
  if (line.text.starts_with('[')) {
    close_term();
    in_term_ = line.text.starts_with("[Term]");
    term_line_ = line.number;
    return;
  }
  if (!in_term_) return;
  if (const std::string_view id = without_comment(value_of(line.text, "id")); !id.empty()) {
    line.require_label(id);
    const auto [first, is_new] = lines_.emplace(id, line.number);
    if (!is_new) {
      line.fail(id.data(), "term ", quoted(id), " is on line ", first->second,
                " already, but must occur once");
    }
    id_ = id;
  } else if (const std::string_view name = value_of(line.text, "name"); !name.empty()) {
    require_text(line, name, "name");
    name_ = name;
  } else if (const std::string_view synonym = value_of(line.text, "synonym");
             keeps_synonyms_ && !synonym.empty()) {
    const std::string text = text_in_quotes(synonym);
    require_text(line, synonym, "synonym");
    if (!text.empty()) add_line(synonyms_, text);
  } else if (first_word(value_of(line.text, "is_obsolete")) == "true") {
    is_obsolete_ = true;
  } else if (const std::string_view other = value_of(line.text, "alt_id"); !other.empty()) {
    line.require_label(first_word(other));
    alternatives_.emplace_back(first_word(other));
  } else if (const std::string_view next = value_of(line.text, "replaced_by"); !next.empty()) {
    line.require_label(first_word(next));
    replacement_ = first_word(next);
  } else if (const std::string_view parent = value_of(line.text, "is_a"); !parent.empty()) {
    add_parent(line, first_word(parent));
  } else if (std::string_view related = value_of(line.text, "relationship");
             part_of_ && first_word(related) == "part_of") {
    related.remove_prefix(std::string_view("part_of").size());
    add_parent(line, first_word(trimmed(related)));
  }
}

void OboParser::add_parent(const Line& line, std::string_view id) {
  line.require_label(id);
  parents_.push_back({std::string(id), line.number, (id.data() - line.text.data()) + 1});
}

void OboParser::close_term() {
  if (in_term_) {
    require(!id_.empty(), hierarchy_.source, ":", term_line_, ":1: the term has no id");
    if (!is_obsolete_) {
      const LabelId node = hierarchy_.codec.add(id_);
      hierarchy_.names.push_back(name_);
      if (keeps_synonyms_) hierarchy_.other_names.push_back(synonyms_);
      for (Parent& parent : parents_) edges_.emplace_back(node, std::move(parent));
      note_alternatives();
    } else {
      former_.obsolete.emplace(id_, replacement_);
    }
  }
  in_term_ = is_obsolete_ = false;
  id_.clear();
  name_.clear();
  synonyms_.clear();
  replacement_.clear();
  alternatives_.clear();
  parents_.clear();
}

void OboParser::note_alternatives() {
  for (const std::string& other : alternatives_) {
    const auto [place, is_new] = term_of_alternative_.emplace(other, id_);
    if (!is_new && place->second != id_) place->second.clear();
  }
}

void OboParser::add_alternatives() {
  LabelCodec& nodes = hierarchy_.codec;
  for (const auto& [other, term] : term_of_alternative_) {
    if (nodes.find(other)) continue;
    if (term.empty()) {
      former_.ambiguous.insert(other);
    } else {
      nodes.add_alternative(other, *nodes.find(term));
    }
  }
}

Hierarchy OboParser::finish() {
  close_term();
  require(hierarchy_.codec.size() > 0, hierarchy_.source,
          ": the file has no term, but must have at least one");
  std::set<std::pair<LabelId, LabelId>> known;  // the same parent may stand under is_a and part_of
  std::size_t num_dangling = 0;
  const Parent* first = nullptr;
  for (const auto& [child, parent] : edges_) {
    const auto id = hierarchy_.codec.find(parent.id);
    if (!id) {
      if (num_dangling++ == 0) first = &parent;
      continue;
    }
    if (!known.emplace(*id, child).second) continue;
    hierarchy_.edges.push_back({*id, child});
    hierarchy_.lines.push_back(parent.line);
  }
  if (first != nullptr) {
    hierarchy_.warnings.push_back(
        concat(hierarchy_.source, ":", first->line, ":", first->column, ": parent is ",
               quoted(first->id), ", which is no term of the file or obsolete; ", num_dangling,
               num_dangling == 1 ? " edge" : " edges", " to such parents left out"));
  }
  require_acyclic(hierarchy_);
  add_alternatives();
  return std::move(hierarchy_);
}

}  // namespace margrove::detail
