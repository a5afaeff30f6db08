#include "data/skos_vocabulary.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "data/hierarchy_edges.hpp"
#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

constexpr std::string_view kSkos = "http://www.w3.org/2004/02/skos/core#";
constexpr std::string_view kType = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
constexpr std::string_view kDeprecated = "http://www.w3.org/2002/07/owl#deprecated";

/// ISO 25964's kinds of skos:broader and skos:narrower, which are sub-properties of them.
constexpr std::string_view kIsoThes = "http://purl.org/iso25964/skos-thes#";
constexpr std::array<std::string_view, 3> kKinds{"Generic", "Partitive", "Instantial"};

bool is_skos(std::string_view uri, std::string_view name) {
  return uri.starts_with(kSkos) && uri.substr(kSkos.size()) == name;
}

/// Whether a predicate is skos:broader or skos:narrower, which `name` is, or a sub-property of it.
bool is_relation(std::string_view uri, std::string_view name) {
  if (is_skos(uri, name)) return true;
  if (!uri.starts_with(kIsoThes)) return false;
  uri.remove_prefix(kIsoThes.size());
  return uri.starts_with(name) &&
         std::ranges::find(kKinds, uri.substr(name.size())) != kKinds.end();
}

constexpr int kOtherLanguage = 3;  // the last rank of names

std::string counted(std::size_t count, std::string_view thing) {
  return concat(count, " ", thing, count == 1 ? "" : "s");
}

/// Whether a language tag such as "en-GB" is of a language such as "en" or "en-gb".
bool is_of_language(std::string_view tag, std::string_view language) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (tag.size() < language.size()) return false;
  if (tag.size() > language.size() && tag[language.size()] != '-') return false;
  return std::equal(language.begin(), language.end(), tag.begin(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace

SkosVocabulary::SkosVocabulary(std::string source, std::string language, bool other_names)
    : language_(std::move(language)), keeps_other_names_(other_names) {
  hierarchy_.source = std::move(source);
}

void SkosVocabulary::add(std::string_view subject, std::string_view predicate,
                         std::string_view object) {
  if (predicate == kType && is_skos(object, "Concept")) {
    concept_of(subject).is_declared = true;
  } else if (is_relation(predicate, "broader")) {
    edges_.emplace_back(id_of(object), id_of(subject));
  } else if (is_relation(predicate, "narrower")) {
    edges_.emplace_back(id_of(subject), id_of(object));
  } else if (is_skos(predicate, "broaderTransitive")) {
    concept_of(subject).has_ancestor = true;
  } else if (is_skos(predicate, "narrowerTransitive")) {
    concept_of(object).has_ancestor = true;
  }
}

void SkosVocabulary::add(std::string_view subject, std::string_view predicate,
                         const RdfLiteral& object) {
  if (predicate == kDeprecated) {
    if (object.text == "true" || object.text == "1") concept_of(subject).is_deprecated = true;
  } else if (is_skos(predicate, "prefLabel")) {
    const int rank = rank_of(object.language);
    Concept& named = concept_of(subject);
    if (rank >= named.name_rank) return;
    named.name_rank = rank;
    named.name = object.text;
  } else if (keeps_other_names_ &&
             (is_skos(predicate, "altLabel") || is_skos(predicate, "hiddenLabel"))) {
    add_other_name(subject, object);
  }
}

/// Names of the best rank stay; where that is any language, those in the language of the first one.
void SkosVocabulary::add_other_name(std::string_view subject, const RdfLiteral& name) {
  const int rank = rank_of(name.language);
  Concept& named = concept_of(subject);
  if (rank > named.other_rank) return;
  if (rank < named.other_rank) {
    named.other_rank = rank;
    named.other_names.clear();
    named.other_tag = name.language;
  }
  if (rank == kOtherLanguage && name.language != named.other_tag) return;
  add_line(named.other_names, name.text);
}

Hierarchy SkosVocabulary::finish() {
  std::vector<LabelId> node_of(concepts_.size(), kNone);
  std::size_t num_declared = 0;
  for (const Concept& each : concepts_) num_declared += each.is_declared ? 1 : 0;
  for (const auto& [parent, child] : edges_) {
    concepts_[child].is_placed = true;
    for (const LabelId end : {parent, child}) concepts_[end].is_end = true;
  }
  warn_of_undeclared(num_declared);
  for (Concept& each : concepts_) each.is_declared = each.is_declared || each.is_end;
  bool any_name = false;
  for (LabelId id = 0; id < concepts_.size(); ++id) {
    Concept& each = concepts_[id];
    if (!each.is_declared || each.is_deprecated) continue;
    const std::string fault = name_fault(uris_.name(id));
    require(fault.empty(), hierarchy_.source, ": the URI of a concept ", fault);
    node_of[id] = hierarchy_.codec.add(uris_.name(id));
    any_name = any_name || each.name_rank == 0;
    hierarchy_.names.push_back(std::move(each.name));
    if (keeps_other_names_) hierarchy_.other_names.push_back(std::move(each.other_names));
  }
  require(hierarchy_.codec.size() > 0, hierarchy_.source,
          ": the file has no skos:Concept, but must have at least one");
  require<InvalidOption>(language_.empty() || any_name, "option language is ", language_,
                         ", but no concept of ", hierarchy_.source, " has a skos:prefLabel in it");
  std::set<std::pair<LabelId, LabelId>> known;  // both ends may state the same edge
  std::size_t num_deprecated = 0;
  const std::pair<LabelId, LabelId>* first = nullptr;  // from a deprecated parent
  for (const auto& edge : edges_) {
    const auto& [parent, child] = edge;
    if (node_of[parent] == kNone && node_of[child] != kNone && num_deprecated++ == 0) first = &edge;
    if (node_of[parent] == kNone || node_of[child] == kNone) continue;
    if (!known.emplace(parent, child).second) continue;
    hierarchy_.edges.push_back({node_of[parent], node_of[child]});
  }
  if (first != nullptr) {
    warn(counted(num_deprecated, "edge"), " from deprecated concepts left out, the first one from ",
         quoted(uris_.name(first->first)), " to ", quoted(uris_.name(first->second)));
  }
  warn_of_flatness(node_of);
  require_acyclic(hierarchy_);
  return std::move(hierarchy_);
}

template <class... Parts>
void SkosVocabulary::warn(const Parts&... parts) {
  hierarchy_.warnings.push_back(concat(hierarchy_.source, ": ", parts...));
}

/// Ends of edges that the file says nothing else of, where it declares other concepts.
void SkosVocabulary::warn_of_undeclared(std::size_t num_declared) {
  std::size_t count = 0;
  LabelId first = kNone;
  for (LabelId id = 0; id < concepts_.size(); ++id) {
    const Concept& each = concepts_[id];
    if (!each.is_end || each.is_declared || each.is_deprecated || each.name_rank < kNoName)
      continue;
    if (count++ == 0) first = id;
  }
  if (count == 0 || num_declared == 0) return;
  warn(counted(count, "node"), count == 1 ? " is" : " are",
       " in skos:broader or skos:narrower "
       "alone, neither a skos:Concept of the file nor named, the first one ",
       quoted(uris_.name(first)));
}

void SkosVocabulary::warn_of_flatness(const std::vector<LabelId>& node_of) {
  std::size_t num_unplaced = 0;
  for (LabelId id = 0; id < concepts_.size(); ++id) {
    if (node_of[id] != kNone && concepts_[id].has_ancestor && !concepts_[id].is_placed) {
      ++num_unplaced;
    }
  }
  if (hierarchy_.edges.empty()) {
    warn(
        "the vocabulary has no skos:broader or skos:narrower, so that every concept is a root "
        "without a child");
  }
  if (num_unplaced > 0) {
    warn(counted(num_unplaced, "concept"),
         " with an ancestor by skos:broaderTransitive or "
         "skos:narrowerTransitive, which are not read because they skip levels, but without a "
         "parent; state skos:broader");
  }
}

int SkosVocabulary::rank_of(std::string_view tag) const {
  if (!language_.empty() && is_of_language(tag, language_)) return 0;
  if (tag.empty()) return language_.empty() ? 0 : 1;
  return is_of_language(tag, "en") ? 2 : kOtherLanguage;
}

LabelId SkosVocabulary::id_of(std::string_view uri) {
  const LabelId id = uris_.add(uri);
  if (id == concepts_.size()) concepts_.emplace_back();
  return id;
}

}  // namespace margrove::detail
